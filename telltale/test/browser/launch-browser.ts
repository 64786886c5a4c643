import { type Browser, chromium } from 'playwright-core';

/** Chromium without a window. As root it has no sandbox of its own to start with. */
export const launchBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
