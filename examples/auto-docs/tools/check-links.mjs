import { existsSync, readFileSync } from 'node:fs';

/**
 * Throws where a link of the page leads nowhere: the step fails, and so does its run.
 * @param {{ page: string }} parameters
 */
export async function run({ page }) {
  const url = new URL(page, new URL('../project/docs/', import.meta.url));
  const links = [...readFileSync(url, 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  const dead = links.filter((link) => !existsSync(new URL(link, url)));
  if (dead.length > 0) throw new Error(`${page} links to ${dead.join(', ')}, which is not there.`);
  return { links: links.length };
}
