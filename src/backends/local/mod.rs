//! What the back ends on people's own graphics cards share: sizes that their models can do, input images that their servers
//! can read, and making what comes back as large as it was asked for.

pub mod finish;
pub mod originals;
pub mod size;
