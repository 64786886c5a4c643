/** Characters of a line that are looked at for links. */
const MAX_LINE = 4_000;

const CODE = /(`+)(?!`)(?:.*?[^`])?\1(?!`)/g;
const COMMENT = /<!--.*?-->/g;
const LINK = /\]\(\s*(?:<([^<>]*)>|([^()\s<>]+(?:\([^()\s]*\)[^()\s]*)*))/g;
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))/g;
const ATTRIBUTE = /\b(?:href|src)=["']([^"']+)["']/g;

/** The files that a line links to, as they are written, without what stands behind `#` or `?`. */
export function linksIn(line: string): readonly string[] {
  if (!/[\](]|=["']/.test(line)) return [];
  const text = line.slice(0, MAX_LINE).replace(CODE, '').replace(COMMENT, '');
  const found: string[] = [];
  for (const pattern of [LINK, DEFINITION, ATTRIBUTE])
    for (const match of text.matchAll(pattern)) {
      const path = filePath(match[1] ?? match[2] ?? '');
      if (path !== undefined) found.push(path);
    }
  return found;
}

function filePath(target: string): string | undefined {
  const path = target.replace(/[#?].*$/, '').trim();
  const isElsewhere = /^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//');
  if (path === '' || isElsewhere || path.startsWith('^')) return undefined;
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // A lone `%` is what the file is called.
  }
}

/** What a reader sees of a line: links by their text, no marks. */
export const plainText = (line: string): string =>
  line
    .slice(0, MAX_LINE)
    .replace(COMMENT, '')
    .replace(/!?\[([^[\]]*)\](?:\([^()]*\)|\[[^[\]]*\])/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/\s*\{#[\w-]+\}\s*$/, '')
    .replace(/(\*\*|__|`+|~~)/g, '')
    .replace(/(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])/g, '$1')
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
