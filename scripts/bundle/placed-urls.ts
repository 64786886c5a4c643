import { dirname, relative, sep } from 'node:path';
import type { Plugin } from 'vite';

const MARK = '__place_of__';
const MARKED = new RegExp(`${MARK}\\("([^"]+)"\\)`, 'g');

/**
 * A module in a chunk has the `import.meta.url` of the file that it would be, had it been kept to itself: what it names
 * relative to itself (a thread's file, package.json, the console) is found from there.
 */
export const placedUrls = (compiled: string): Plugin => ({
  name: 'placed-urls',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return null;
    const place = relative(compiled, id).replaceAll(sep, '/');
    const found = urlsIn(this.parse(code));
    if (found.length === 0) return null;
    let placed = '';
    let end = 0;
    for (const [from, to] of found) {
      placed += `${code.slice(end, from)}${MARK}(${JSON.stringify(place)})`;
      end = to;
    }
    return { code: placed + code.slice(end), map: null };
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(MARK)) return null;
    const url = (place: string): string => {
      const path = relative(dirname(fileName), place).replaceAll(sep, '/');
      return `new URL(${JSON.stringify(path)}, import.meta.url).href`;
    };
    return { code: code.replace(MARKED, (_, place: string) => url(place)), map: null };
  },
});

type Node = { readonly [key: string]: unknown };
type Range = readonly [from: number, to: number];

/** Where `import.meta.url` stands as code, in order: in a text it is left as it is. */
function urlsIn(node: unknown): readonly Range[] {
  if (Array.isArray(node)) return node.flatMap(urlsIn);
  if (typeof node !== 'object' || node === null) return [];
  const { type, object, property, start, end, ...rest } = node as Node;
  const isUrl =
    type === 'MemberExpression' &&
    (object as Node).type === 'MetaProperty' &&
    (property as Node).name === 'url';
  if (isUrl) return [[start as number, end as number]];
  return [object, property, ...Object.values(rest)].flatMap(urlsIn).sort(([one], [other]) => one - other);
}
