//! Files that people copy into their own CI or cluster: accepted by the validators of their formats, and their commands run here.
//!
//! Without the Python packages of `target/test-readers` these tests say so and pass, unless CI=true.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{Folder, SLOB, workspace};
use slob_testing::available;

fn reader(program: &str) -> Option<PathBuf> {
    let path = workspace("target/test-readers/bin").join(program);
    let missing = "there are no readers; .ci/install-test-servers installs them";
    available(Some(path).filter(|path| path.exists()).ok_or(missing.into()))
}

fn example(name: &str) -> PathBuf {
    workspace("packaging/examples").join(name)
}

fn accepts(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let words =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {words}");
    words
}

/// Documents of kinds that Kubernetes itself knows.
const OF_KUBERNETES: &str = "\
import sys, yaml
known = [one for one in yaml.safe_load_all(open(sys.argv[1])) if not one['apiVersion'].startswith('postgresql.cnpg.io')]
print(yaml.safe_dump_all(known))";

#[test]
fn validators_accept_the_files() {
    let Some(check) = reader("check-jsonschema") else { return };
    for (schema, file) in
        [("vendor.github-workflows", "github-actions.yml"), ("vendor.gitlab-ci", "gitlab-ci.yml")]
    {
        accepts(Command::new(&check).args(["--builtin-schema", schema]).arg(example(file)));
    }
    let (Some(validate), Some(python)) = (reader("kubernetes-validate"), reader("python")) else { return };
    let folder = Folder::new();
    for file in ["kubernetes.yaml", "cloudnative-pg.yaml"] {
        let known = accepts(Command::new(&python).args(["-c", OF_KUBERNETES]).arg(example(file)));
        folder.write(file, &known);
        let said = accepts(Command::new(&validate).arg("--strict").arg(folder.at(file)));
        assert!(said.contains("passed for resource job/"), "{said}");
    }
}

/// The commands of a file, in their order, by a reader of its format.
fn commands(python: &PathBuf, file: &str) -> String {
    const STEPS: &str = "\
import sys, yaml
document = yaml.safe_load(open(sys.argv[1]))
if 'jobs' in document:
    print('\\n'.join(step['run'] for job in document['jobs'].values() for step in job['steps'] if 'run' in step))
else:
    print('\\n'.join(line for job in document.values() for part in ('script', 'after_script') for line in job.get(part, [])))";
    accepts(Command::new(python).args(["-c", STEPS]).arg(example(file)))
}

#[test]
fn the_commands_of_a_ci_give_a_gate_and_a_site_that_its_readers_accept() {
    let (Some(python), Some(check)) = (reader("python"), reader("check-jsonschema")) else { return };
    for file in ["github-actions.yml", "gitlab-ci.yml"] {
        let script = commands(&python, file).replace("--run-time 30", "--run-time 2");
        assert!(script.contains("slob setup 2") && script.contains("--run-time 2"), "{file}: {script}");
        // A busy machine can make a run BAD, and then the gate does not know.
        let attempt = |_| {
            let folder = Folder::new();
            folder.write("steps", &script);
            let bin = PathBuf::from(SLOB).parent().unwrap().display().to_string();
            let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
            let mut steps = Command::new("bash");
            steps.args(["-e", "steps"]).current_dir(folder.path()).env("PATH", path);
            let output = steps.env("GITHUB_STEP_SUMMARY", folder.at("summary.md")).output().unwrap();
            output.status.success().then_some(folder)
        };
        let folder = (0..5).find_map(attempt).unwrap_or_else(|| panic!("the commands of {file} fail"));
        let count = "import sys, junitparser; print(sum(suite.tests for suite in [junitparser.JUnitXml.fromfile(sys.argv[1])]))";
        let tests = accepts(Command::new(&python).args(["-c", count]).arg(folder.at("gate.xml")));
        assert_eq!(tests.trim(), "2", "{file}");
        assert!(folder.at("public/index.html").is_file(), "{file}");
        let schema = workspace("docs/reference/run.schema.json");
        accepts(Command::new(&check).arg("--schemafile").arg(schema).arg(folder.last_run().join("run.json")));
    }
}
