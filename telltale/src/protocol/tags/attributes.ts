import { ATTRIBUTE_NAMES, OTHER } from './attribute-names.ts';
import { SPAN, type TagScan } from './tag-scan-state.ts';

/** The attributes of a finished tag. */
export interface Attributes {
  /** By code; undefined where it is absent. A bare attribute has the value `true`. */
  readonly values: readonly (string | undefined)[];
  /** One bit for each code that is present. */
  readonly present: number;
  /** The first name that is not known to any tag. */
  readonly other: string | undefined;
  /** The first name that stands twice; its first value holds. */
  readonly repeated: string | undefined;
}

export const NO_ATTRIBUTES: Attributes = { values: [], present: 0, other: undefined, repeated: undefined };
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Reads what the scan found in `tag`, its text from `<` to `>`. */
export function readAttributes(scan: TagScan, tag: string): Attributes {
  const { spans, spanCount } = scan;
  if (spanCount === 0) return NO_ATTRIBUTES;
  const escapes = tag.includes('&');
  const values: (string | undefined)[] = [];
  let present = 0;
  let others: Set<string> | undefined;
  let repeated: string | undefined;
  for (let i = 0; i < spanCount; i += SPAN) {
    const code = spans[i] ?? OTHER;
    if (code === OTHER) {
      const name = tag.slice(spans[i + 1], spans[i + 2]);
      others ??= new Set();
      if (others.has(name)) repeated ??= name;
      others.add(name);
    } else if ((present & (1 << code)) !== 0) repeated ??= ATTRIBUTE_NAMES[code];
    else {
      const from = spans[i + 3] ?? -1;
      present |= 1 << code;
      const value = from < 0 ? 'true' : tag.slice(from, spans[i + 4]);
      values[code] = escapes ? decode(value) : value;
    }
  }
  return { values, present, other: others?.values().next().value, repeated };
}

/** The five entities, once: `&amp;lt;` is `&lt;`. */
function decode(value: string): string {
  return value.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}
