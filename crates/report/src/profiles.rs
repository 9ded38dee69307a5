//! Profiles of databases, plans made from them and their headroom, as text and as pages.

mod headroom;
mod page;
mod plan;
mod text;
mod words;

pub use self::headroom::{
    Contender, Headroom, HeadroomStep, Multiple, MultipleStep, headroom_page, headroom_sentence,
    headroom_text, headrooms_text,
};
pub use self::page::profile_page;
pub use self::plan::{PlanView, plan_conf, plan_table};
pub use self::text::{profile_diff_text, profile_text};
