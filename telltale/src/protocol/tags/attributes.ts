import type { TagScan } from './tag-scan.ts';

/** What a tag of the protocol may carry, and the names it really has, in order, others included. */
export interface Attributes {
  type: string | undefined;
  mode: string | undefined;
  id: string | undefined;
  key: string | undefined;
  test: string | undefined;
  in: string | undefined;
  as: string | undefined;
  final: string | undefined;
  readonly names: readonly string[];
  /** The first name that stands twice; its first value holds. */
  repeated: string | undefined;
}

type AttributeName = Exclude<keyof Attributes, 'names' | 'repeated'>;

const NONE: readonly string[] = [];
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Reads what the scan found in `tag`, its text from `<` to `>`. A bare attribute has the value `true`. */
export function readAttributes(scan: TagScan, tag: string): Attributes {
  const { spans } = scan;
  const names: string[] = [];
  const attributes: Attributes = {
    type: undefined,
    mode: undefined,
    id: undefined,
    key: undefined,
    test: undefined,
    in: undefined,
    as: undefined,
    final: undefined,
    names: spans.length === 0 ? NONE : names,
    repeated: undefined,
  };
  let seen: Set<string> | undefined;
  for (let i = 0; i < spans.length; i += 4) {
    const name = tag.slice(spans[i], spans[i + 1]);
    const from = spans[i + 2] ?? -1;
    if (names.length > FEW) seen ??= new Set(names);
    if (seen === undefined ? names.includes(name) : seen.has(name)) {
      attributes.repeated ??= name;
      continue;
    }
    names.push(name);
    seen?.add(name);
    if (isKnown(name)) attributes[name] ??= from < 0 ? 'true' : decode(tag.slice(from, spans[i + 3]));
  }
  return attributes;
}

/** Up to here a look through the list is cheaper than a set. */
const FEW = 8;

function isKnown(name: string): name is AttributeName {
  switch (name) {
    case 'type':
    case 'mode':
    case 'id':
    case 'key':
    case 'test':
    case 'in':
    case 'as':
    case 'final':
      return true;
    default:
      return false;
  }
}

/** The five entities, once: `&amp;lt;` is `&lt;`. */
function decode(value: string): string {
  if (!value.includes('&')) return value;
  return value.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}
