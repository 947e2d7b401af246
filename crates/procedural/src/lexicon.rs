//! The words that the generator knows, and their meanings.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::colour::{Rgb, hex};

/// A thing that can be drawn.
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

/// The place of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Place {
    Forest, Mountain, Hill, Sea, Lake, River, City, Field, Meadow, Desert, Island, Beach, Underwater, Space, Sky, StillLife, Table, Room, Abstract,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Time { #[default] Any, Dawn, Day, Sunset, Night }

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Weather { #[default] Clear, Snow, Rain, Fog, Storm }

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Season { #[default] Any, Spring, Summer, Autumn, Winter }

/// Things in the sky.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Light { Sun, Moon, Stars, Aurora, Rainbow, Clouds }

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Style { #[default] Print, Watercolour, Woodcut, Neon, Retro, Minimal }

/// Changes the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Mood { Calm, Dramatic, Dreamy, Pastel, Dark, Warm, Cold, Vivid, Mono }

/// The meaning of one word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning {
    Subject(Subject),
    Place(Place),
    Time(Time),
    Weather(Weather),
    Season(Season),
    Light(Light),
    Style(Style),
    Mood(Mood),
    /// The colour of the next noun.
    Colour(Rgb),
    /// The number of the next noun.
    Count(u8),
    /// Omits the next noun.
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

/// Looks up a lower-case word, and without its usual endings if it is unknown. The second value says whether the word is a plural,
/// which means three of a kind.
pub fn meaning(word: &str) -> Option<(Meaning, bool)> {
    if let Some(found) = exact(word) {
        return Some((found, false));
    }
    let plural = [("ies", "y"), ("ves", "f"), ("es", ""), ("s", "")];
    let other = ["en", "y", "ing", "ish", "ed"].map(|ending| (ending, ""));
    let stem = |(ending, instead): &(&str, &str)| {
        let stem = word.strip_suffix(ending).filter(|stem| stem.len() > 2)?;
        exact(&format!("{stem}{instead}"))
    };
    let many = plural.iter().find_map(stem).map(|found| (found, true));
    many.or_else(|| other.iter().find_map(stem).map(|found| (found, false)))
}

/// Each meaning with its words: lower-case Latin letters without accents, then single characters of other scripts.
#[rustfmt::skip]
mod words {
    use super::{Light, Meaning as M, Mood, Place, Season, Style, Subject, Time, Weather, hex};

    pub const ALL: [(M, &str); 119] = [
        (M::Subject(Subject::Fox), "fox vixen fuchs renard zorro volpe kitsune 🦊 狐"),
        (M::Subject(Subject::Wolf), "wolf coyote loup lobo husky 🐺 狼"),
        (M::Subject(Subject::Cat), "cat kitten kitty katze chat gato gatto tiger lynx panther 🐱 🐈 猫 貓"),
        (M::Subject(Subject::Dog), "dog puppy hound hund chien perro cane corgi retriever 🐶 🐕 犬 狗"),
        (M::Subject(Subject::Rabbit), "rabbit bunny hare hase lapin conejo 🐰 🐇 兔"),
        (M::Subject(Subject::Bear), "bear cub grizzly panda ours oso 🐻 🐼 熊"),
        (M::Subject(Subject::Owl), "owl eule hibou buho 🦉"),
        (M::Subject(Subject::Bird), "bird robin sparrow raven crow eagle hawk parrot dove vogel oiseau swallow hummingbird 🐦 鳥 鸟"),
        (M::Subject(Subject::Deer), "deer stag elk moose reindeer fawn doe hirsch reh cerf 🦌 鹿"),
        (M::Subject(Subject::Horse), "horse pony stallion mare unicorn pferd cheval caballo 🐴 🐎 馬 马"),
        (M::Subject(Subject::Penguin), "penguin pinguin 🐧"),
        (M::Subject(Subject::Butterfly), "butterfly moth schmetterling papillon 🦋 蝶"),
        (M::Subject(Subject::Fish), "fish goldfish koi shark salmon fisch poisson 🐟 🐠 魚 鱼"),
        (M::Subject(Subject::Whale), "whale dolphin orca wal baleine ballena 🐳 🐋 鯨 鲸"),
        (M::Subject(Subject::Jellyfish), "jellyfish octopus squid"),
        (M::Subject(Subject::Turtle), "turtle tortoise"),
        (M::Subject(Subject::Person), "person man woman boy girl child people figure wanderer traveler traveller hiker monk wizard witch knight samurai king queen princess someone mann frau homme femme dancer warrior fisherman farmer kid lady 人 👩 👨 🧑"),
        (M::Subject(Subject::Portrait), "portrait face headshot selfie bust hair eyes smile"),
        (M::Subject(Subject::Robot), "robot android cyborg droid mech automaton 🤖"),
        (M::Subject(Subject::Astronaut), "astronaut cosmonaut spaceman"),
        (M::Subject(Subject::House), "house cabin cottage hut home barn farm haus maison casa chalet village church 🏠 🏡 家"),
        (M::Subject(Subject::Castle), "castle palace fortress tower schloss burg chateau castillo kingdom 🏰 🏯"),
        (M::Subject(Subject::Lighthouse), "lighthouse leuchtturm phare faro beacon"),
        (M::Subject(Subject::Windmill), "windmill mill"),
        (M::Subject(Subject::Bridge), "bridge aqueduct"),
        (M::Subject(Subject::Tent), "tent camp campfire camping"),
        (M::Subject(Subject::Boat), "boat ship sailboat sail yacht canoe vessel boot schiff bateau barco galleon ⛵ 🚢 船"),
        (M::Subject(Subject::Balloon), "balloon airship zeppelin ballon 🎈"),
        (M::Subject(Subject::Rocket), "rocket spaceship spacecraft shuttle rakete fusee starship 🚀"),
        (M::Subject(Subject::Planet), "planet saturn jupiter mars earth"),
        (M::Subject(Subject::Flower), "flower tulip rose sunflower daisy poppy lavender blossom bloom bouquet blume fleur flor lily lotus orchid garden 🌷 🌹 🌻 🌸 💐 花"),
        (M::Subject(Subject::Tree), "tree oak birch willow bonsai baum arbre arbol maple palm 🌳 木 树 樹"),
        (M::Subject(Subject::Mushroom), "mushroom toadstool fungi fungus 🍄"),
        (M::Subject(Subject::Apple), "apple fruit cherry peach berry plum 🍎 🍏"),
        (M::Subject(Subject::Orange), "oranges tangerine mandarin"),
        (M::Subject(Subject::Lemon), "lemon citrus lime"),
        (M::Subject(Subject::Pear), "pear avocado"),
        (M::Subject(Subject::Cup), "cup mug coffee tea teacup espresso cappuccino ☕ 🍵 茶"),
        (M::Subject(Subject::Vase), "vase jug pitcher bottle pot"),
        (M::Subject(Subject::Candle), "candle lantern lamp"),
        (M::Subject(Subject::Book), "book novel library"),
        (M::Place(Place::Forest), "forest wood woodland jungle wald foret bosque pine fir spruce taiga grove 🌲 林 森"),
        (M::Place(Place::Mountain), "mountain peak alp summit volcano berg montagne montana cliff canyon valley fjord glacier everest fuji 🏔 ⛰ 🗻 山"),
        (M::Place(Place::Hill), "hill countryside landscape vineyard scenery"),
        (M::Place(Place::Sea), "sea ocean wave meer mer mar coast harbor harbour bay tide seascape pier 🌊 海"),
        (M::Place(Place::Lake), "lake pond reflection reflecting lac lago 湖"),
        (M::Place(Place::River), "river stream waterfall creek fluss riviere rio canal 川 河"),
        (M::Place(Place::City), "city town skyline skyscraper street urban downtown metropolis stadt ville ciudad tokyo paris london york manhattan cityscape building cyberpunk 🏙 🌆 🌃 街 市"),
        (M::Place(Place::Field), "field wheat corn barley harvest feld champ campo steppe"),
        (M::Place(Place::Meadow), "meadow grass grassland pasture prairie wiese pre clearing"),
        (M::Place(Place::Desert), "desert dune sahara sand wuste cactus oasis 🏜 🌵 沙"),
        (M::Place(Place::Island), "island atoll insel 🏝 🌴 島 岛"),
        (M::Place(Place::Beach), "beach shore tropical strand plage playa"),
        (M::Place(Place::Underwater), "underwater reef coral aquarium seabed deep submarine"),
        (M::Place(Place::Space), "space galaxy nebula cosmos cosmic universe orbit outer alien weltraum"),
        (M::Place(Place::Sky), "sky himmel ciel cielo air flying"),
        (M::Place(Place::StillLife), "still"),
        (M::Place(Place::Table), "table"),
        (M::Place(Place::Room), "room kitchen interior desk indoors window shelf"),
        (M::Place(Place::Abstract), "abstract geometric geometry bauhaus kandinsky pattern cubist shapes composition"),
        (M::Time(Time::Dawn), "dawn sunrise morning daybreak morgen 🌅 🌄 朝"),
        (M::Time(Time::Day), "day noon midday afternoon sunny daylight bright"),
        (M::Time(Time::Sunset), "sunset dusk evening twilight sundown abend sonnenuntergang 🌇 夕"),
        (M::Time(Time::Night), "night midnight nighttime nacht nuit noche nocturnal moonlit moonlight 夜"),
        (M::Weather(Weather::Snow), "snow snowy snowfall blizzard schnee neige nieve snowing snowflake ice icy frost frozen arctic antarctic ❄ ☃ ⛄ 雪 🌨"),
        (M::Weather(Weather::Rain), "rain rainy drizzle regen pluie lluvia wet raining umbrella 🌧 ☔ 雨"),
        (M::Weather(Weather::Fog), "fog foggy mist misty haze hazy nebel smoke 🌫 霧 雾"),
        (M::Weather(Weather::Storm), "storm stormy thunder lightning thunderstorm tempest sturm hurricane tornado ⛈ ⚡ 嵐"),
        (M::Season(Season::Spring), "spring springtime fruhling printemps sakura 春"),
        (M::Season(Season::Summer), "summer sommer ete verano"),
        (M::Season(Season::Autumn), "autumn fall autumnal herbst automne otono october 🍁 🍂 秋"),
        (M::Season(Season::Winter), "winter wintry hiver invierno christmas december 冬"),
        (M::Light(Light::Sun), "sun sonne soleil sol ☀ 🌞 日"),
        (M::Light(Light::Moon), "moon crescent mond lune luna 🌙 🌕 🌝 月"),
        (M::Light(Light::Stars), "star starry starlight stern etoile milky constellation ⭐ 🌟 ✨ 星"),
        (M::Light(Light::Aurora), "aurora borealis"),
        (M::Light(Light::Rainbow), "rainbow regenbogen 🌈 虹"),
        (M::Light(Light::Clouds), "cloud cloudy wolke nuage overcast ☁ 雲 云"),
        (M::Style(Style::Watercolour), "watercolor watercolour aquarelle aquarell gouache painting"),
        (M::Style(Style::Woodcut), "woodcut ink engraving linocut etching sketch drawing woodblock pencil charcoal"),
        (M::Style(Style::Neon), "neon synthwave vaporwave glowing"),
        (M::Style(Style::Retro), "retro poster vintage screenprint deco"),
        (M::Style(Style::Minimal), "minimal minimalist minimalistic simple"),
        (M::Mood(Mood::Calm), "calm peaceful serene quiet gentle tranquil cozy cosy silent"),
        (M::Mood(Mood::Dramatic), "dramatic epic intense powerful majestic"),
        (M::Mood(Mood::Dreamy), "dreamy surreal magical fantasy ethereal whimsical enchanted mystical dream fairytale"),
        (M::Mood(Mood::Pastel), "pastel soft delicate"),
        (M::Mood(Mood::Dark), "dark gloomy moody noir gothic haunted"),
        (M::Mood(Mood::Warm), "warm hot"),
        (M::Mood(Mood::Cold), "cold cool chilly"),
        (M::Mood(Mood::Vivid), "vivid vibrant colorful colourful saturated"),
        (M::Mood(Mood::Mono), "monochrome grayscale greyscale"),
        (M::Count(2), "two pair couple zwei"),
        (M::Count(3), "three several some drei"),
        (M::Count(5), "four five many flock herd school swarm"),
        (M::Not, "no without ohne sans sin"),
        (M::Size(0.7), "tiny small little distant"),
        (M::Size(1.3), "big large huge giant tall great"),
        (M::Colour(hex(0xC8321F)), "red rot rouge rojo rosso 赤 红 紅"),
        (M::Colour(hex(0xB01E34)), "crimson scarlet ruby"),
        (M::Colour(hex(0xE8772A)), "orange"),
        (M::Colour(hex(0xC65F24)), "ginger copper rust"),
        (M::Colour(hex(0xF2C32E)), "yellow gelb jaune amarillo"),
        (M::Colour(hex(0xE0A030)), "gold golden amber"),
        (M::Colour(hex(0x4C9A4A)), "green grun vert verde 緑 绿"),
        (M::Colour(hex(0x1F8A62)), "emerald jade"),
        (M::Colour(hex(0x7D8A3A)), "olive"),
        (M::Colour(hex(0x2A9D9A)), "teal turquoise cyan aqua"),
        (M::Colour(hex(0x2F6DB5)), "blue blau bleu azul blu cobalt sapphire 青 蓝"),
        (M::Colour(hex(0x2A3476)), "navy indigo"),
        (M::Colour(hex(0x7B3FA0)), "purple violet lila magenta"),
        (M::Colour(hex(0xB79AD2)), "lilac mauve"),
        (M::Colour(hex(0xEE7FA6)), "pink rosa salmon-pink fuchsia"),
        (M::Colour(hex(0x7E4A2A)), "brown braun chestnut chocolate wooden"),
        (M::Colour(hex(0xE4C89A)), "beige tan cream ivory blond blonde"),
        (M::Colour(hex(0xF3F1EC)), "white weiss blanc blanco bianco 白"),
        (M::Colour(hex(0x24222A)), "black schwarz noire negro nero 黒 黑"),
        (M::Colour(hex(0x8B9097)), "grey gray grau gris"),
        (M::Colour(hex(0xB4BCC6)), "silver"),
    ];
}

/// Words that name nothing to draw.
const NEUTRAL: &str = "a an the this that these those some of in on at with and or to for by from as is are was be it its into over under near \
    behind before above below between through across around along his her their my our your one very more most highly super ultra quality \
    photo photograph photography picture image illustration art artwork artistic style styled view scene render rendering wallpaper background \
    portrait-format landscape-format close-up closeup detailed detail realistic photorealistic cinematic beautiful nice lovely pretty amazing \
    stunning gorgeous light lighting lit life der die das ein eine einer im am mit und le la les un une des du de et el los las y con il lo";

static NEUTRALS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| NEUTRAL.split(' ').filter(|it| !it.is_empty()).collect());

/// Does an unknown lower-case word name nothing to draw, like an article, a number or praise?
pub fn is_neutral(word: &str) -> bool {
    NEUTRALS.contains(word) || word.starts_with(|c: char| c.is_ascii_digit())
}

static MEANINGS: LazyLock<HashMap<&str, Meaning>> = LazyLock::new(|| {
    let words =
        |(meaning, words): &'static (Meaning, &str)| words.split(' ').map(|word| (word, *meaning));
    words::ALL.iter().flat_map(words).collect()
});

fn exact(word: &str) -> Option<Meaning> {
    // `sign` handles characters of other scripts, so they must not count again as words.
    MEANINGS.get(word).filter(|_| word.is_ascii()).copied()
}

/// The meaning of a single character: an emoji, or a common Chinese or Japanese character.
pub fn sign(sign: char) -> Option<Meaning> {
    let mut bytes = [0; 4];
    MEANINGS.get(&*sign.encode_utf8(&mut bytes)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_plurals_and_emoji_are_recognized() {
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
