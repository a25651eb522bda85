// A real Chromium, with the page out of the binary or, while it is worked on, out of a folder.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';

const { chromium } = createRequire(new URL('../../web/package.json', import.meta.url))(
  'playwright-core',
);

export const DESK = { width: 1440, height: 900 };
// A machine that others use stops for half a minute at a time; what comes costs no more for it.
const PATIENCE_MS = 120_000;

export function findChromium() {
  const places = [
    process.env.KEDGE_CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  return places.find((path) => path && existsSync(path));
}

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

async function servePage(context, folder) {
  await context.route(/^http:\/\/127\.0\.0\.1:\d+\/(?!api\/|health)/, (route) => {
    const path = new URL(route.request().url()).pathname;
    const file = join(folder, path === '/' ? 'index.html' : path);
    if (!existsSync(file)) return route.fulfill({ status: 404 });
    return route.fulfill({
      contentType: TYPES[extname(file)],
      body: readFileSync(file),
    });
  });
}

/** `folder`: where the page's files are; without it they are the server's. */
export async function openBrowser(folder) {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
  return {
    async newContext(options = {}) {
      const context = await browser.newContext({ viewport: DESK, ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      if (folder) await servePage(context, folder);
      return context;
    },
    close: () => browser.close(),
  };
}
