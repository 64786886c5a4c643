import { isMap } from '../is-map.ts';

/** Finds what `$ref` means inside a JSON Schema: own properties only, so `#/toString` leads nowhere. */
export function referenceResolver(root: Readonly<Record<string, unknown>>): (reference: string) => unknown {
  let anchors: ReadonlyMap<unknown, unknown> | undefined;
  return (reference) => {
    if (reference === '#') return root;
    if (!reference.startsWith('#/')) {
      anchors ??= new Map([...everySchema(root)].map((part) => [part.$anchor, part]));
      return anchors.get(reference.slice(1));
    }
    return reference
      .slice(2)
      .split('/')
      .map((part) => decode(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>(ownProperty, root);
  };
}

const ownProperty = (at: unknown, key: string): unknown =>
  typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    ? (at as Readonly<Record<string, unknown>>)[key]
    : undefined;

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Every map in a schema, itself included. */
export function* everySchema(at: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (isMap(at)) yield at;
  if (typeof at === 'object' && at !== null) for (const inner of Object.values(at)) yield* everySchema(inner);
}
