import type { AppendOp, ToBackend, WriteRequest } from '../grouped/messages.ts';

type Group = Extract<ToBackend, { readonly kind: 'group' }>;

/**
 * A group on its way to the thread. What is copied between threads costs by the object: plain appends, which nearly all
 * are, become numbers in one array and texts in another, and what is left stands beside them with its place.
 */
export interface PackedGroup extends Omit<Group, 'kind' | 'writes'> {
  readonly kind: 'packed';
  /** Of each append: its place, stream, epoch, expectedSeq and count. */
  readonly numbers: Float64Array;
  readonly bodies: readonly string[];
  readonly others: readonly (readonly [place: number, write: AppendOp | WriteRequest])[];
}

const NUMBERS = 5;

export function packGroup({ now, writes, reads }: Group): PackedGroup {
  const numbers = new Float64Array(writes.length * NUMBERS);
  const bodies: string[] = [];
  const others: [number, AppendOp | WriteRequest][] = [];
  let at = 0;
  for (let place = 0; place < writes.length; place++) {
    const write = writes[place] as AppendOp | WriteRequest;
    if (!isPlain(write)) {
      others.push([place, write]);
      continue;
    }
    numbers[at++] = place;
    for (let field = 0; field < NUMBERS - 1; field++) numbers[at++] = write[field] as number;
    bodies.push(write[4]);
  }
  return { kind: 'packed', now, reads, numbers: numbers.subarray(0, at), bodies, others };
}

export function unpackGroup({ now, reads, numbers, bodies, others }: PackedGroup): Group {
  const writes: (AppendOp | WriteRequest)[] = new Array(bodies.length + others.length);
  for (const [place, write] of others) writes[place] = write;
  let at = 0;
  for (const body of bodies) {
    const next = () => numbers[at++] as number;
    writes[next()] = [next(), next(), next(), next(), body, null, null, null, null];
  }
  return { kind: 'group', now, writes, reads };
}

/** Nothing but events: no status, no messages consumed, no writes to tables. */
const isPlain = (write: AppendOp | WriteRequest): write is AppendOp =>
  Array.isArray(write) && write[5] === null && write[6] === null && write[7] === null && write[8] === null;
