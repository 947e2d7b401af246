//! The layout of lists and pages: rows, menus, filters on a phone, charts of a young account, fonts.

use crate::accessibility::assert_no_barriers;
use crate::calls::calls;
use crate::pages::{resize, wait_until_loaded};
use crate::{browse, browse_with, receiver};
use serde_json::json;

#[test]
fn rows_are_comfortable_compact_or_an_image_grid_and_the_choice_is_remembered() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });",
        )
        .await;
        browser.go("#/jobs", "Jobs").await;
        let height = "return Math.round(document.querySelector('tbody tr')?.getBoundingClientRect().height ?? 0);";
        browser.comes_to(height, json!(48)).await;
        browser.press("Compact rows").await;
        browser.comes_to(height, json!(36)).await;
        browser.client.refresh().await.unwrap();
        browser.comes_to(height, json!(36)).await;
        browser.press("Images as a grid").await;
        let tiles = "return document.querySelectorAll('.sheet .gallery img').length;";
        browser.comes_to(tiles, json!(1)).await;
        browser.client.refresh().await.unwrap();
        browser.comes_to(tiles, json!(1)).await;
        assert_no_barriers(&browser, "Jobs").await;
        browser.press("Comfortable rows").await;
        browser.comes_to(height, json!(48)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_row_has_one_visible_action_and_a_menu_that_survives_a_redraw() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/keys", "API keys").await;
        let seen = "return [...document.querySelectorAll('tbody tr:first-child button')].filter((it) => it.checkVisibility()).map((it) => it.ariaLabel ?? it.textContent);";
        let closed = json!(["Change", "More actions for first"]);
        browser.comes_to(seen, closed.clone()).await;
        browser.press("More actions for first").await;
        let stands = "return document.activeElement.textContent;";
        browser.comes_to(stands, json!("Rotate")).await;
        // A job redraws the list, which then has the panel's own key.
        calls(
            &browser,
            "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });",
        )
        .await;
        browser.see("b", "panel").await;
        browser.comes_to(stands, json!("Rotate")).await;
        let open = "return document.querySelectorAll('[popover]:popover-open').length;";
        browser.comes_to(open, json!(1)).await;
        let active = browser.client.active_element().await.unwrap();
        active.send_keys("\u{e00c}").await.unwrap();
        browser.comes_to(seen, closed).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn filters_are_folded_on_a_phone() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        resize(&browser, 390, 844, "light").await;
        browser.go("#/jobs?status=failed", "Jobs").await;
        wait_until_loaded(&browser).await;
        let select = "return document.querySelector('select[name=status]').checkVisibility();";
        assert_eq!(browser.run(select, vec![]).await, json!(false));
        browser.press_in("//summary[.='Filters (1)']").await;
        browser.comes_to(select, json!(true)).await;
        resize(&browser, 1440, 900, "light").await;
        let summary = "return document.querySelector('.filters > summary').checkVisibility();";
        browser.comes_to(summary, json!(false)).await;
        browser.comes_to(select, json!(true)).await;
        let tops = "return new Set([...document.querySelectorAll('.filter-row .field > label')].map((it) => it.getBoundingClientRect().top)).size;";
        browser.comes_to(tops, json!(1)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_footer_of_the_menu_is_visible_and_the_entries_scroll() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let seen = "const box = document.querySelector('[aria-label=\"Sign out\"]').getBoundingClientRect(), current = document.querySelector('.nav [aria-current]').getBoundingClientRect(), nav = document.querySelector('.nav').getBoundingClientRect();
            return [box.top >= 0 && box.bottom <= innerHeight && box.left >= 0, current.top >= nav.top && current.bottom <= nav.bottom];";
        for (width, height) in [(1280, 800), (1280, 600), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/audit", "Audit log").await;
            if width < 600 {
                browser.press("Menu").await;
            }
            browser.comes_to(seen, json!([true, true])).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn long_prompts_of_the_ledger_are_cut_on_a_phone() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let prompt = "a red fox in the snow at dusk ".repeat(8);
        let script =
            format!("return await make(base, {{ prompt: '{prompt}', aspect_ratio: '1:1' }});");
        calls(&browser, &script).await;
        resize(&browser, 390, 844, "light").await;
        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Charge").await;
        let inside = "const edge = document.querySelector('.sheet').getBoundingClientRect().right;
            const all = [...document.querySelectorAll('td.rest .clip, td.rest .small')].map((it) => it.getBoundingClientRect());
            return all.length > 1 && all.every((it) => it.right <= edge);";
        browser.comes_to(inside, json!(true)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_generate_button_stays_visible_and_rare_ratios_are_shown_on_demand() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        for (width, height) in [(1360, 600), (390, 600)] {
            resize(&browser, width, height, "light").await;
            let seen = "const box = document.querySelector('.bench [type=submit]').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight;";
            browser.run("scrollTo(0, 0);", vec![]).await;
            browser.comes_to(seen, json!(true)).await;
        }
        let ratios = "return document.querySelectorAll('[name=aspect_ratio]').length;";
        assert_eq!(browser.run(ratios, vec![]).await, json!(6));
        browser.press("More").await;
        browser.comes_to(ratios, json!(10)).await;
        browser
            .press_in("//label[input[@value='21:9' and @name='aspect_ratio']]")
            .await;
        browser.press("Fewer").await;
        // The button beside the code covers none of it.
        for (width, height) in [(1280, 800), (390, 844)] {
            resize(&browser, width, height, "light").await;
            let apart = "const code = document.querySelector('.code pre').getBoundingClientRect(), copy = document.querySelector('.code .button').getBoundingClientRect();
                return copy.left >= code.right || copy.bottom <= code.top;";
            browser.comes_to(apart, json!(true)).await;
        }
        // The selection stays.
        browser.comes_to(ratios, json!(7)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_buttons_of_a_long_dialog_stay_visible() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        let seen =
            "const send = document.querySelector('dialog [type=submit]').getBoundingClientRect();
            return document.elementFromPoint(send.left + 5, send.top + 5)?.type === 'submit';";
        for (width, height) in [(1440, 900), (720, 450), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.comes_to(seen, json!(true)).await;
        }
        browser.press("Cancel").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_young_account_is_charted_by_the_hour() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });",
        )
        .await;
        browser.go("#/ledger", "Ledger").await;
        browser.go("#/overview", "Overview").await;
        browser.see("h2", "Images per hour").await;
        let label = "return document.querySelector('svg.chart').getAttribute('aria-label');";
        let done = "Images per hour over 24 hours: 1 done, 0 failed";
        browser.comes_to(label, json!(done)).await;
        browser.press("14 days").await;
        let done = "Images per day over 14 days: 1 done, 0 failed";
        browser.comes_to(label, json!(done)).await;
        // The page says so if the service did not read all jobs.
        let cut = "const real = window.fetch; window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!url.includes('/overview?days=1')) return answer;
                return new Response(JSON.stringify({ ...await answer.json(), days_since: new Date().toISOString() }));
            };";
        browser.run(cut, vec![]).await;
        let caption = "These are the newest 100,000 jobs, since ";
        browser.press("24 h").await;
        browser.see("p", caption).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_fonts_are_the_panels_own() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let loaded = "const done = arguments[0];
            document.fonts.ready.then(() => done([...document.fonts].filter((it) => it.status === 'loaded').map((it) => it.family.replaceAll('\"', '')).sort()));";
        let found = browser.client.execute_async(loaded, vec![]).await.unwrap();
        assert_eq!(found, json!(["Inter", "Inter", "Source Serif"]));
        let licence = "const done = arguments[0]; fetch('/panel/assets/fonts-license.txt').then((it) => it.text()).then((it) => done(it.includes('SIL OPEN FONT LICENSE')));";
        let found = browser.client.execute_async(licence, vec![]).await.unwrap();
        assert_eq!(found, json!(true));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_audit_log_shows_sentences_and_expands_to_the_changes() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "return await send('POST', base + '/deposits', { amount: '25', reference: 'invoice 17' });",
        )
        .await;
        browser.go("#/audit?action=deposit", "Audit log").await;
        browser
            .find("//p[.='The operator deposited 25.00 USD for default.']")
            .await;
        let seen = "return document.querySelector('.unfold dl').checkVisibility();";
        assert_eq!(browser.run(seen, vec![]).await, json!(false));
        browser.press_in("//summary[contains(., 'details')]").await;
        browser.comes_to(seen, json!(true)).await;
        browser.see("dd", "invoice 17").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_sentences_of_the_audit_log_say_what_was_done_to_which_record() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "await send('POST', base + '/deposits', { amount: '25', reference: 'invoice 17' });
             await send('POST', base + '/deposits', { amount: '-5', reference: 'a slip' });
             await send('PATCH', '/pause', { tiers: { fast: true, pro: true } });
             await send('PATCH', '/pause', { tiers: { fast: false }, project: true });
             await send('PATCH', '/pause', { project: false });
             const person = await send('POST', base + '/people', { email: 'ada@example.com', role: 'owner' });
             await send('DELETE', base + '/people/' + person.person_id + '/sessions');
             await send('DELETE', base + '/people/' + person.person_id);
             return await send('POST', '/accounts', { name: 'a long name that goes on and on '.repeat(6).trim() });",
        )
        .await;
        browser.go("#/audit", "Audit log").await;
        for words in [
            "The operator adjusted the balance by -5.00 USD for default.",
            "The operator paused fast and pro.",
            "The operator paused everything and resumed fast.",
            "The operator resumed everything.",
            "The operator invited ada@example.com to default.",
            "The operator removed ada@example.com from default.",
            "The operator signed in.",
        ] {
            browser.find(&format!("//p[.='{words}']")).await;
        }
        // The name of a removed person is gone.
        browser
            .find("//p[starts-with(., 'The operator ended all sessions of …') and contains(., ' in default.')]")
            .await;
        // The full stop stands on the last line of a long name.
        let lines = "const p = [...document.querySelectorAll('main p')].find((it) => it.textContent.includes('goes on'));
            const range = document.createRange(); const last = p.lastChild;
            range.setStart(last, last.length - 1); range.setEnd(last, last.length);
            return range.getBoundingClientRect().left - p.getBoundingClientRect().left > 20;";
        browser.comes_to(lines, json!(true)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_phone_names_the_account_and_a_column_of_amounts_is_aligned() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "await send('POST', base + '/deposits', { amount: '1234.5', reference: null });
             return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });",
        )
        .await;
        let named = "const it = document.querySelector('.bar .payer'); return it.checkVisibility() && it.textContent;";
        browser.go("#/playground", "Playground").await;
        browser.comes_to(named, json!(false)).await;
        resize(&browser, 390, 844, "light").await;
        browser.comes_to(named, json!("default")).await;
        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Charge").await;
        let amounts = "return [...document.querySelectorAll('main tbody tr')].slice(0, 2).map((it) => it.cells[3].innerText.trim());";
        browser
            .comes_to(amounts, json!(["−0.039", "+1,234.500"]))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn numbers_of_many_digits_do_not_break_and_do_not_widen_the_page() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "return await send('POST', base + '/deposits', { amount: '1234567.123456' });",
        )
        .await;
        let fits = "const number = document.querySelector('.figure .amount'), card = number?.closest('.card').getBoundingClientRect();
            return number?.textContent === '1,234,667.123456' && number.getClientRects().length === 1 && number.getBoundingClientRect().right <= card.right;";
        for (width, height) in [(1360, 900), (1024, 768), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/accounts", "Accounts").await;
            browser.go("#/overview", "Overview").await;
            browser.comes_to(fits, json!(true)).await;
        }
        // Half of a laptop's width, as at 200 % zoom.
        resize(&browser, 660, 450, "light").await;
        browser.go("#/accounts", "Accounts").await;
        browser.see("td", "1,234,667.123456 USD").await;
        assert!(wait_until_loaded(&browser).await <= 660);
        browser.leave().await;
        drop(service);
    });
}

/// The widths of phones, of tablets, and of small and large laptops with and without zoom.
const WIDTHS: [u64; 9] = [390, 720, 941, 1024, 1181, 1200, 1280, 1440, 1680];

/// Whether the texts of a list stay inside their cells, and all columns inside the list.
pub const IN_CELLS: &str = "const cells = [...document.querySelectorAll('main td.rest')];
    const right = (it) => it.getBoundingClientRect().right;
    return cells.length > 0 && cells.every((cell) => cell.clientWidth > 60 && [...cell.querySelectorAll('.link, .clip')].every((it) => right(it) < right(cell) + 1))
        && [...document.querySelectorAll('main .scroll')].every((it) => it.scrollWidth <= it.clientWidth);";

#[test]
fn long_prompts_of_the_queue_are_cut_and_all_columns_are_visible() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = format!(
            "await send('PATCH', base, {{ name: '{LONG_NAME}' }});
             const prompt = 'a red fox in the snow at dusk '.repeat(6);
             for (let at = 0; at < 3; at += 1) await make(base, {{ prompt, aspect_ratio: '1:1' }});
             return {{}};"
        );
        calls(&browser, &script).await;
        browser.go("#/queue", "Queue").await;
        browser.see("h2", "2 jobs waiting").await;
        for width in WIDTHS {
            resize(&browser, width, 900, "light").await;
            browser.comes_to(IN_CELLS, json!(true)).await;
        }
        // The actions of the keys, and the balance of the ledger, are in the last column.
        for (page, title, last) in [
            ("#/keys", "API keys", "td .row.end"),
            ("#/ledger", "Ledger", "td:last-child"),
        ] {
            browser.go(page, title).await;
            wait_until_loaded(&browser).await;
            for width in WIDTHS {
                resize(&browser, width, 900, "light").await;
                let inside = format!("const all = [...document.querySelectorAll('main {last}')], list = document.querySelector('.sheet').getBoundingClientRect();
                    return all.length > 0 && all.every((it) => it.getBoundingClientRect().right <= list.right);");
                browser.comes_to(&inside, json!(true)).await;
            }
        }
        browser.leave().await;
        drop(service);
    });
}

const LONG_NAME: &str = "Northwind Traders Catalogue Department";

#[test]
fn long_names_are_cut_in_the_usage_of_all_accounts() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = format!(
            "await send('PATCH', base, {{ name: '{LONG_NAME}' }});
             return await make(base, {{ prompt: 'a fox', aspect_ratio: '1:1' }});"
        );
        calls(&browser, &script).await;
        browser.go("#/all-usage", "Usage of all accounts").await;
        browser.see("td", LONG_NAME).await;
        // The letters of a chart are as large as the style sheet says, and the words of its legend stand beside their colours.
        let charts = "const box = (it) => it.getBoundingClientRect();
            return [...document.querySelectorAll('svg.chart')].every((it) => Math.abs(it.viewBox.baseVal.width - box(it).width) < 1)
                && [...document.querySelectorAll('.legend-row span')].every((it) => it.getClientRects().length === 1 && box(it).height < 30);";
        for width in WIDTHS {
            resize(&browser, width, 900, "light").await;
            browser.comes_to(IN_CELLS, json!(true)).await;
            browser.comes_to(charts, json!(true)).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn done_and_failed_images_differ_in_brightness() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        // The contrast of the two colours by WCAG, and of the lighter or darker of them with the card.
        let contrast = "const light = (colour) => { const [r, g, b] = colour.match(/\\d+/g).map((it) => { const v = Number(it) / 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
            const between = (one, other) => { const [low, high] = [light(one), light(other)].sort((a, b) => a - b); return (high + .05) / (low + .05); };
            const swatch = (kind) => getComputedStyle(document.querySelector(`.legend-row .${kind}`), '::before').backgroundColor;
            const bar = getComputedStyle(document.querySelector('.chart .bar-done')).fill;
            return [bar === swatch('done'), between(swatch('done'), swatch('bad')) >= 1.9, between(swatch('done'), getComputedStyle(document.querySelector('.card')).backgroundColor) >= 3];";
        browser.see("h2", "Images per hour").await;
        for theme in ["light", "dark"] {
            resize(&browser, 1280, 800, theme).await;
            browser.comes_to(contrast, json!([true, true, true])).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn durations_never_show_sixty_seconds_and_long_ones_have_hours_and_days() {
    browse(|service, browser| async move {
        browser.open("").await;
        let words = "const done = arguments[0];
            import('/panel/assets/format.js').then(({ millis }) => done([999, 1_000, 59_949, 59_950, 60_000, 179_700, 3_599_700, 93_600_000].map(millis)));";
        let words = browser.client.execute_async(words, vec![]).await.unwrap();
        let expected = [
            "999 ms",
            "1.0 s",
            "59.9 s",
            "1 min 0 s",
            "1 min 0 s",
            "3 min 0 s",
            "1 h 0 min",
            "1 d 2 h",
        ];
        assert_eq!(words, json!(expected));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_prompt_of_an_unfinished_job_is_cut_after_whole_lines() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "const prompt = 'a red fox in the snow at dusk '.repeat(12);
            return await make(base, { prompt, aspect_ratio: '1:1' });";
        calls(&browser, script).await;
        let lines = "const it = document.querySelector('.gallery .words');
            if (!it) return 0;
            const style = getComputedStyle(it);
            return Math.round((it.clientHeight - parseFloat(style.paddingTop)) / parseFloat(style.lineHeight) * 10) / 10;";
        browser.comes_to(lines, json!(4)).await;
        browser.leave().await;
        drop(service);
    });
}
