// What journeys share: addresses, rows, patience, a mouse that drags.
import { PROJECT } from './seed.mjs';

export const rootOf = (server) => server.address.replace(/\/$/, '');
export const at = (server, path) => `${rootOf(server)}/#/p/${PROJECT}/${path}`;

export const rowOf = (page, name) =>
  page.locator('.runs .line', {
    has: page.getByRole('link', { name, exact: true }),
  });

export const count = async (page) =>
  (await page.locator('.pane.list .toolbar b').innerText()).trim();

export async function until(check, what, limit = 60000) {
  const end = Date.now() + limit;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`did not happen in ${limit} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** `from` and `to` are parts of the box. */
export async function drag(page, box, from, to) {
  await page.mouse.move(box.x + box.width * from[0], box.y + box.height * from[1]);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to[0], box.y + box.height * to[1], {
    steps: 6,
  });
  await page.mouse.up();
}

export async function logIn(page, server, user, password) {
  await page.goto(server.address);
  await page.getByLabel('User').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** The API with the session of a page. */
export function pageApi(page) {
  const call = (method, path, body) =>
    page.evaluate(
      async ([m, p, b]) => {
        const headers = {
          'Content-Type': 'application/json',
          'X-Kedge-Page': '1',
        };
        const answer = await fetch(`api/v1/${p}`, {
          method: m,
          headers,
          body: JSON.stringify(b),
        });
        if (!answer.ok) throw new Error(`${m} ${p}: ${answer.status} ${await answer.text()}`);
      },
      [method, path, body],
    );
  return { call, post: (path, body) => call('POST', path, body) };
}
