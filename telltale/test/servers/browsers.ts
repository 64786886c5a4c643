/** The names that Chrome and Chromium go by, the one that a Debian has first. */
export const BROWSERS: readonly string[] = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];
