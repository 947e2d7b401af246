//! The words that the generator understands, and what each of them means to it.

use super::colour::{Rgb, hex};

/// Something that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[rustfmt::skip]
pub enum Subject {
    Fox, Wolf, Cat, Dog, Rabbit, Bear, Owl, Bird, Deer, Horse, Penguin, Butterfly,
    Fish, Whale, Jellyfish, Turtle,
    Person, Portrait, Robot, Astronaut,
    House, Castle, Lighthouse, Windmill, Bridge, Tent,
    Boat, Balloon, Rocket, Planet,
    Flower, Tree, Mushroom,
    Apple, Orange, Lemon, Pear, Cup, Vase, Candle, Book,
}

/// Where a picture takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Place {
    Forest, Mountain, Hill, Sea, Lake, River, City, Field, Meadow, Desert, Island, Beach, Underwater, Space, Sky, Indoors, Abstract,
}

/// Time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Time { Any, Dawn, Day, Sunset, Night }

/// Weather.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Weather { Clear, Snow, Rain, Fog, Storm }

/// Time of year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Season { Any, Spring, Summer, Autumn, Winter }

/// Things in the sky.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Light { Sun, Moon, Stars, Aurora, Rainbow, Clouds }

/// Technique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Style { Print, Watercolour, Woodcut, Neon, Retro, Minimal }

/// What bends the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Mood { Calm, Dramatic, Dreamy, Pastel, Dark, Warm, Cold, Vivid, Mono }

/// The meaning of one word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning {
    /// A thing to draw.
    Subject(Subject),
    /// Where.
    Place(Place),
    /// When in the day.
    Time(Time),
    /// Weather.
    Weather(Weather),
    /// When in the year.
    Season(Season),
    /// In the sky.
    Light(Light),
    /// How it is made.
    Style(Style),
    /// How it feels.
    Mood(Mood),
    /// A colour, for the next noun.
    Colour(Rgb),
    /// How many of the next noun.
    Count(u8),
    /// The next noun is to be left out.
    Not,
    /// Large or small, for the next noun.
    Size(f32),
}

impl Style {
    /// Glowing lines in the dark.
    pub fn is_neon(self) -> bool {
        self == Self::Neon
    }

    /// A poster of few colours.
    pub fn is_retro(self) -> bool {
        self == Self::Retro
    }
}

/// Looks up a lower-case word, with the usual endings taken off when it is not found as it stands.
///
/// A plural stands for three of a kind; the caller sees that from the second value.
pub fn meaning(word: &str) -> Option<(Meaning, bool)> {
    if let Some(found) = exact(word) {
        return Some((found, false));
    }
    let endings: [(&str, &str); 9] = [
        ("ies", "y"),
        ("ves", "f"),
        ("es", ""),
        ("s", ""),
        ("en", ""),
        ("y", ""),
        ("ing", ""),
        ("ish", ""),
        ("ed", ""),
    ];
    endings
        .iter()
        .enumerate()
        .find_map(|(i, (ending, instead))| {
            let stem = word.strip_suffix(ending).filter(|stem| stem.len() > 2)?;
            let found = if instead.is_empty() {
                exact(stem)
            } else {
                exact(&format!("{stem}{instead}"))
            };
            found.map(|m| (m, i < 4))
        })
}

#[rustfmt::skip]
fn exact(word: &str) -> Option<Meaning> {
    use Meaning as M;
    let found = match word {
        "fox" | "vixen" | "fuchs" | "renard" | "zorro" | "volpe" | "kitsune" => M::Subject(Subject::Fox),
        "wolf" | "coyote" | "loup" | "lobo" | "husky" => M::Subject(Subject::Wolf),
        "cat" | "kitten" | "kitty" | "katze" | "chat" | "gato" | "gatto" | "tiger" | "lynx" | "panther" => M::Subject(Subject::Cat),
        "dog" | "puppy" | "hound" | "hund" | "chien" | "perro" | "cane" | "corgi" | "retriever" => M::Subject(Subject::Dog),
        "rabbit" | "bunny" | "hare" | "hase" | "lapin" | "conejo" => M::Subject(Subject::Rabbit),
        "bear" | "cub" | "grizzly" | "panda" | "ours" | "oso" => M::Subject(Subject::Bear),
        "owl" | "eule" | "hibou" | "buho" => M::Subject(Subject::Owl),
        "bird" | "robin" | "sparrow" | "raven" | "crow" | "eagle" | "hawk" | "parrot" | "dove" | "vogel" | "oiseau" | "swallow" | "hummingbird" => M::Subject(Subject::Bird),
        "deer" | "stag" | "elk" | "moose" | "reindeer" | "fawn" | "doe" | "hirsch" | "reh" | "cerf" => M::Subject(Subject::Deer),
        "horse" | "pony" | "stallion" | "mare" | "unicorn" | "pferd" | "cheval" | "caballo" => M::Subject(Subject::Horse),
        "penguin" | "pinguin" => M::Subject(Subject::Penguin),
        "butterfly" | "moth" | "schmetterling" | "papillon" => M::Subject(Subject::Butterfly),
        "fish" | "goldfish" | "koi" | "shark" | "salmon" | "fisch" | "poisson" => M::Subject(Subject::Fish),
        "whale" | "dolphin" | "orca" | "wal" | "baleine" | "ballena" => M::Subject(Subject::Whale),
        "jellyfish" | "octopus" | "squid" => M::Subject(Subject::Jellyfish),
        "turtle" | "tortoise" => M::Subject(Subject::Turtle),
        "person" | "man" | "woman" | "boy" | "girl" | "child" | "people" | "figure" | "wanderer" | "traveler" | "traveller" | "hiker" | "monk"
        | "wizard" | "witch" | "knight" | "samurai" | "king" | "queen" | "princess" | "someone" | "mann" | "frau" | "homme" | "femme" | "dancer"
        | "warrior" | "fisherman" | "farmer" | "kid" | "lady" => M::Subject(Subject::Person),
        "portrait" | "face" | "headshot" | "selfie" | "bust" | "hair" | "eyes" | "smile" => M::Subject(Subject::Portrait),
        "robot" | "android" | "cyborg" | "droid" | "mech" | "automaton" => M::Subject(Subject::Robot),
        "astronaut" | "cosmonaut" | "spaceman" => M::Subject(Subject::Astronaut),
        "house" | "cabin" | "cottage" | "hut" | "home" | "barn" | "farm" | "haus" | "maison" | "casa" | "chalet" | "village" | "church" => M::Subject(Subject::House),
        "castle" | "palace" | "fortress" | "tower" | "schloss" | "burg" | "chateau" | "castillo" | "kingdom" => M::Subject(Subject::Castle),
        "lighthouse" | "leuchtturm" | "phare" | "faro" | "beacon" => M::Subject(Subject::Lighthouse),
        "windmill" | "mill" => M::Subject(Subject::Windmill),
        "bridge" | "aqueduct" => M::Subject(Subject::Bridge),
        "tent" | "camp" | "campfire" | "camping" => M::Subject(Subject::Tent),
        "boat" | "ship" | "sailboat" | "sail" | "yacht" | "canoe" | "vessel" | "boot" | "schiff" | "bateau" | "barco" | "galleon" => M::Subject(Subject::Boat),
        "balloon" | "airship" | "zeppelin" | "ballon" => M::Subject(Subject::Balloon),
        "rocket" | "spaceship" | "spacecraft" | "shuttle" | "rakete" | "fusee" | "starship" => M::Subject(Subject::Rocket),
        "planet" | "saturn" | "jupiter" | "mars" | "earth" => M::Subject(Subject::Planet),
        "flower" | "tulip" | "rose" | "sunflower" | "daisy" | "poppy" | "lavender" | "blossom" | "bloom" | "bouquet" | "blume" | "fleur" | "flor"
        | "lily" | "lotus" | "orchid" | "garden" => M::Subject(Subject::Flower),
        "tree" | "oak" | "birch" | "willow" | "bonsai" | "baum" | "arbre" | "arbol" | "maple" | "palm" => M::Subject(Subject::Tree),
        "mushroom" | "toadstool" | "fungi" | "fungus" => M::Subject(Subject::Mushroom),
        "apple" | "fruit" | "cherry" | "peach" | "berry" | "plum" => M::Subject(Subject::Apple),
        "oranges" | "tangerine" | "mandarin" => M::Subject(Subject::Orange),
        "lemon" | "citrus" | "lime" => M::Subject(Subject::Lemon),
        "pear" | "avocado" => M::Subject(Subject::Pear),
        "cup" | "mug" | "coffee" | "tea" | "teacup" | "espresso" | "cappuccino" => M::Subject(Subject::Cup),
        "vase" | "jug" | "pitcher" | "bottle" | "pot" => M::Subject(Subject::Vase),
        "candle" | "lantern" | "lamp" => M::Subject(Subject::Candle),
        "book" | "novel" | "library" => M::Subject(Subject::Book),

        "forest" | "wood" | "woodland" | "jungle" | "wald" | "foret" | "bosque" | "pine" | "fir" | "spruce" | "taiga" | "grove" => M::Place(Place::Forest),
        "mountain" | "peak" | "alp" | "summit" | "volcano" | "berg" | "montagne" | "montana" | "cliff" | "canyon" | "valley" | "fjord" | "glacier" | "everest" | "fuji" => M::Place(Place::Mountain),
        "hill" | "countryside" | "landscape" | "vineyard" | "scenery" => M::Place(Place::Hill),
        "sea" | "ocean" | "wave" | "meer" | "mer" | "mar" | "coast" | "harbor" | "harbour" | "bay" | "tide" | "seascape" | "pier" => M::Place(Place::Sea),
        "lake" | "pond" | "reflection" | "reflecting" | "lac" | "lago" => M::Place(Place::Lake),
        "river" | "stream" | "waterfall" | "creek" | "fluss" | "riviere" | "rio" | "canal" => M::Place(Place::River),
        "city" | "town" | "skyline" | "skyscraper" | "street" | "urban" | "downtown" | "metropolis" | "stadt" | "ville" | "ciudad" | "tokyo" | "paris"
        | "london" | "york" | "manhattan" | "cityscape" | "building" | "cyberpunk" => M::Place(Place::City),
        "field" | "wheat" | "corn" | "barley" | "harvest" | "feld" | "champ" | "campo" | "steppe" => M::Place(Place::Field),
        "meadow" | "grass" | "grassland" | "pasture" | "prairie" | "wiese" | "pre" | "clearing" => M::Place(Place::Meadow),
        "desert" | "dune" | "sahara" | "sand" | "wuste" | "cactus" | "oasis" => M::Place(Place::Desert),
        "island" | "atoll" | "insel" => M::Place(Place::Island),
        "beach" | "shore" | "tropical" | "strand" | "plage" | "playa" => M::Place(Place::Beach),
        "underwater" | "reef" | "coral" | "aquarium" | "seabed" | "deep" | "submarine" => M::Place(Place::Underwater),
        "space" | "galaxy" | "nebula" | "cosmos" | "cosmic" | "universe" | "orbit" | "outer" | "alien" | "weltraum" => M::Place(Place::Space),
        "sky" | "himmel" | "ciel" | "cielo" | "air" | "flying" => M::Place(Place::Sky),
        "room" | "table" | "kitchen" | "interior" | "desk" | "indoors" | "still" | "window" | "shelf" => M::Place(Place::Indoors),
        "abstract" | "geometric" | "geometry" | "bauhaus" | "kandinsky" | "pattern" | "cubist" | "shapes" | "composition" => M::Place(Place::Abstract),

        "dawn" | "sunrise" | "morning" | "daybreak" | "morgen" => M::Time(Time::Dawn),
        "day" | "noon" | "midday" | "afternoon" | "sunny" | "daylight" | "bright" => M::Time(Time::Day),
        "sunset" | "dusk" | "evening" | "twilight" | "sundown" | "abend" | "sonnenuntergang" => M::Time(Time::Sunset),
        "night" | "midnight" | "nighttime" | "nacht" | "nuit" | "noche" | "nocturnal" | "moonlit" | "moonlight" => M::Time(Time::Night),
        "snow" | "snowy" | "snowfall" | "blizzard" | "schnee" | "neige" | "nieve" | "snowing" | "snowflake" | "ice" | "icy" | "frost" | "frozen" | "arctic" | "antarctic" => M::Weather(Weather::Snow),
        "rain" | "rainy" | "drizzle" | "regen" | "pluie" | "lluvia" | "wet" | "raining" | "umbrella" => M::Weather(Weather::Rain),
        "fog" | "foggy" | "mist" | "misty" | "haze" | "hazy" | "nebel" | "smoke" => M::Weather(Weather::Fog),
        "storm" | "stormy" | "thunder" | "lightning" | "thunderstorm" | "tempest" | "sturm" | "hurricane" | "tornado" => M::Weather(Weather::Storm),
        "spring" | "springtime" | "fruhling" | "printemps" | "sakura" => M::Season(Season::Spring),
        "summer" | "sommer" | "ete" | "verano" => M::Season(Season::Summer),
        "autumn" | "fall" | "autumnal" | "herbst" | "automne" | "otono" | "october" => M::Season(Season::Autumn),
        "winter" | "wintry" | "hiver" | "invierno" | "christmas" | "december" => M::Season(Season::Winter),
        "sun" | "sonne" | "soleil" | "sol" => M::Light(Light::Sun),
        "moon" | "crescent" | "mond" | "lune" | "luna" => M::Light(Light::Moon),
        "star" | "starry" | "starlight" | "stern" | "etoile" | "milky" | "constellation" => M::Light(Light::Stars),
        "aurora" | "borealis" => M::Light(Light::Aurora),
        "rainbow" | "regenbogen" => M::Light(Light::Rainbow),
        "cloud" | "cloudy" | "wolke" | "nuage" | "overcast" => M::Light(Light::Clouds),
        "watercolor" | "watercolour" | "aquarelle" | "aquarell" | "gouache" | "painting" => M::Style(Style::Watercolour),
        "woodcut" | "ink" | "engraving" | "linocut" | "etching" | "sketch" | "drawing" | "woodblock" | "pencil" | "charcoal" => M::Style(Style::Woodcut),
        "neon" | "synthwave" | "vaporwave" | "glowing" => M::Style(Style::Neon),
        "retro" | "poster" | "vintage" | "screenprint" | "deco" => M::Style(Style::Retro),
        "minimal" | "minimalist" | "minimalistic" | "simple" => M::Style(Style::Minimal),
        "calm" | "peaceful" | "serene" | "quiet" | "gentle" | "tranquil" | "cozy" | "cosy" | "silent" => M::Mood(Mood::Calm),
        "dramatic" | "epic" | "intense" | "powerful" | "majestic" => M::Mood(Mood::Dramatic),
        "dreamy" | "surreal" | "magical" | "fantasy" | "ethereal" | "whimsical" | "enchanted" | "mystical" | "dream" | "fairytale" => M::Mood(Mood::Dreamy),
        "pastel" | "soft" | "delicate" => M::Mood(Mood::Pastel),
        "dark" | "gloomy" | "moody" | "noir" | "gothic" | "haunted" => M::Mood(Mood::Dark),
        "warm" | "hot" => M::Mood(Mood::Warm),
        "cold" | "cool" | "chilly" => M::Mood(Mood::Cold),
        "vivid" | "vibrant" | "colorful" | "colourful" | "saturated" => M::Mood(Mood::Vivid),
        "monochrome" | "grayscale" | "greyscale" => M::Mood(Mood::Mono),
        "two" | "pair" | "couple" | "zwei" => M::Count(2),
        "three" | "several" | "some" | "drei" => M::Count(3),
        "four" | "five" | "many" | "flock" | "herd" | "school" | "swarm" => M::Count(5),
        "no" | "without" | "ohne" | "sans" | "sin" => M::Not,
        "tiny" | "small" | "little" | "distant" => M::Size(0.7),
        "big" | "large" | "huge" | "giant" | "tall" | "great" => M::Size(1.3),
        other => return colour(other).map(M::Colour),
    };
    Some(found)
}

#[rustfmt::skip]
fn colour(word: &str) -> Option<Rgb> {
    Some(hex(match word {
        "red" | "rot" | "rouge" | "rojo" | "rosso" => 0xC8321F,
        "crimson" | "scarlet" | "ruby" => 0xB01E34,
        "orange" => 0xE8772A,
        "ginger" | "copper" | "rust" => 0xC65F24,
        "yellow" | "gelb" | "jaune" | "amarillo" => 0xF2C32E,
        "gold" | "golden" | "amber" => 0xE0A030,
        "green" | "grun" | "vert" | "verde" => 0x4C9A4A,
        "emerald" | "jade" => 0x1F8A62,
        "olive" => 0x7D8A3A,
        "teal" | "turquoise" | "cyan" | "aqua" => 0x2A9D9A,
        "blue" | "blau" | "bleu" | "azul" | "blu" | "cobalt" | "sapphire" => 0x2F6DB5,
        "navy" | "indigo" => 0x2A3476,
        "purple" | "violet" | "lila" | "magenta" => 0x7B3FA0,
        "lilac" | "mauve" => 0xB79AD2,
        "pink" | "rosa" | "salmon-pink" | "fuchsia" => 0xEE7FA6,
        "brown" | "braun" | "chestnut" | "chocolate" | "wooden" => 0x7E4A2A,
        "beige" | "tan" | "cream" | "ivory" | "blond" | "blonde" => 0xE4C89A,
        "white" | "weiss" | "blanc" | "blanco" | "bianco" => 0xF3F1EC,
        "black" | "schwarz" | "noire" | "negro" | "nero" => 0x24222A,
        "grey" | "gray" | "grau" | "gris" => 0x8B9097,
        "silver" => 0xB4BCC6,
        _ => return None,
    }))
}

/// The meaning of a single sign: emoji and the commonest Chinese and Japanese characters.
#[rustfmt::skip]
pub fn sign(sign: char) -> Option<Meaning> {
    use Meaning as M;
    Some(match sign {
        '🦊' | '狐' => M::Subject(Subject::Fox),
        '🐺' | '狼' => M::Subject(Subject::Wolf),
        '🐱' | '🐈' | '猫' | '貓' => M::Subject(Subject::Cat),
        '🐶' | '🐕' | '犬' | '狗' => M::Subject(Subject::Dog),
        '🐰' | '🐇' | '兔' => M::Subject(Subject::Rabbit),
        '🐻' | '🐼' | '熊' => M::Subject(Subject::Bear),
        '🦉' => M::Subject(Subject::Owl),
        '🐦' | '鳥' | '鸟' => M::Subject(Subject::Bird),
        '🦌' | '鹿' => M::Subject(Subject::Deer),
        '🐴' | '🐎' | '馬' | '马' => M::Subject(Subject::Horse),
        '🐧' => M::Subject(Subject::Penguin),
        '🦋' | '蝶' => M::Subject(Subject::Butterfly),
        '🐟' | '🐠' | '魚' | '鱼' => M::Subject(Subject::Fish),
        '🐳' | '🐋' | '鯨' | '鲸' => M::Subject(Subject::Whale),
        '🤖' => M::Subject(Subject::Robot),
        '🏠' | '🏡' | '家' => M::Subject(Subject::House),
        '🏰' | '🏯' => M::Subject(Subject::Castle),
        '⛵' | '🚢' | '船' => M::Subject(Subject::Boat),
        '🎈' => M::Subject(Subject::Balloon),
        '🚀' => M::Subject(Subject::Rocket),
        '🌷' | '🌹' | '🌻' | '🌸' | '💐' | '花' => M::Subject(Subject::Flower),
        '🌳' | '木' | '树' | '樹' => M::Subject(Subject::Tree),
        '🍄' => M::Subject(Subject::Mushroom),
        '🍎' | '🍏' => M::Subject(Subject::Apple),
        '☕' | '🍵' | '茶' => M::Subject(Subject::Cup),
        '人' | '👩' | '👨' | '🧑' => M::Subject(Subject::Person),
        '🌲' | '林' | '森' => M::Place(Place::Forest),
        '🏔' | '⛰' | '🗻' | '山' => M::Place(Place::Mountain),
        '🌊' | '海' => M::Place(Place::Sea),
        '湖' => M::Place(Place::Lake),
        '川' | '河' => M::Place(Place::River),
        '🏙' | '🌆' | '🌃' | '街' | '市' => M::Place(Place::City),
        '🏜' | '🌵' | '沙' => M::Place(Place::Desert),
        '🏝' | '🌴' | '島' | '岛' => M::Place(Place::Island),
        '🌅' | '🌄' | '朝' => M::Time(Time::Dawn),
        '🌇' | '夕' => M::Time(Time::Sunset),
        '夜' => M::Time(Time::Night),
        '❄' | '☃' | '⛄' | '雪' | '🌨' => M::Weather(Weather::Snow),
        '🌧' | '☔' | '雨' => M::Weather(Weather::Rain),
        '🌫' | '霧' | '雾' => M::Weather(Weather::Fog),
        '⛈' | '⚡' | '嵐' => M::Weather(Weather::Storm),
        '🍁' | '🍂' | '秋' => M::Season(Season::Autumn),
        '春' => M::Season(Season::Spring),
        '冬' => M::Season(Season::Winter),
        '☀' | '🌞' | '日' => M::Light(Light::Sun),
        '🌙' | '🌕' | '🌝' | '月' => M::Light(Light::Moon),
        '⭐' | '🌟' | '✨' | '星' => M::Light(Light::Stars),
        '🌈' | '虹' => M::Light(Light::Rainbow),
        '☁' | '雲' | '云' => M::Light(Light::Clouds),
        '赤' | '红' | '紅' => M::Colour(hex(0xC8321F)),
        '青' | '蓝' => M::Colour(hex(0x2F6DB5)),
        '緑' | '绿' => M::Colour(hex(0x4C9A4A)),
        '白' => M::Colour(hex(0xF3F1EC)),
        '黒' | '黑' => M::Colour(hex(0x24222A)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_plurals_and_signs_are_known() {
        assert_eq!(
            meaning("fox"),
            Some((Meaning::Subject(Subject::Fox), false))
        );
        assert_eq!(
            meaning("foxes"),
            Some((Meaning::Subject(Subject::Fox), true))
        );
        assert_eq!(
            meaning("wolves"),
            Some((Meaning::Subject(Subject::Wolf), true))
        );
        assert_eq!(
            meaning("butterflies"),
            Some((Meaning::Subject(Subject::Butterfly), true))
        );
        assert_eq!(meaning("xylograph"), None);
        assert_eq!(sign('🦊'), Some(Meaning::Subject(Subject::Fox)));
    }
}
