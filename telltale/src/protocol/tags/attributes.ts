import type { TagScan } from './tag-scan.ts';

/** The attributes of a finished tag. Where a name is repeated the first value stands and `repeated` names it. */
export interface Attributes {
  readonly values: ReadonlyMap<string, string>;
  readonly repeated: string | undefined;
}

const NONE: Attributes = { values: new Map(), repeated: undefined };
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Reads what the scan found in `tag`, its text from `<` to `>`. A bare attribute has the value `true`. */
export function readAttributes(scan: TagScan, tag: string): Attributes {
  const { spans } = scan;
  if (spans.length === 0) return NONE;
  const values = new Map<string, string>();
  let repeated: string | undefined;
  for (let i = 0; i < spans.length; i += 4) {
    const name = tag.slice(spans[i], spans[i + 1]);
    const from = spans[i + 2] ?? -1;
    if (values.has(name)) repeated ??= name;
    else values.set(name, from < 0 ? 'true' : decode(tag.slice(from, spans[i + 3])));
  }
  return { values, repeated };
}

/** The five entities, once: `&amp;lt;` is `&lt;`. */
function decode(value: string): string {
  if (!value.includes('&')) return value;
  return value.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}
