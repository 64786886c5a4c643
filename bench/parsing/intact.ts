import type { SaidAction } from './actions.ts';

export interface Intact {
  /** Bodies that came out deep-equal to what was put in, in the same order. */
  readonly intact: number;
  /** Bodies that came out although nobody said them: quoted text that would have run, or damaged bodies. */
  readonly phantom: number;
}

/** Compares name and parameters of what was read with what was said. */
export function countIntact(said: readonly SaidAction[], read: readonly unknown[]): Intact {
  const places = new Map<string, number[]>();
  said.forEach((action, index) => {
    const key = canonical({ name: action.name, parameters: action.parameters });
    const list = places.get(key);
    if (list) list.push(index);
    else places.set(key, [index]);
  });
  let intact = 0;
  let last = -1;
  for (const body of read) {
    const { name, parameters } = (body ?? {}) as Partial<SaidAction>;
    const place = places.get(canonical({ name, parameters }))?.find((index) => index > last);
    if (place === undefined) continue;
    intact += 1;
    last = place;
  }
  return { intact, phantom: read.length - intact };
}

/** Two JSON values are deep-equal if and only if these are the same: the keys of objects are sorted. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${canonical(child)}`).join(',')}}`;
}
