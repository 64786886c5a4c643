import { main } from '../../src/cli/main.ts';
import { type FakeOptions, type FakeRuntime, fakeRuntime } from './fake-runtime.ts';
import { type RecordedIo, type RecordedIoOptions, recordedIo } from './recorded-io.ts';

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command line over a fake runtime. The store's file is taken to be there: any file that is will do. */
export function begin(argv: readonly string[], fake: FakeOptions = {}, given: RecordedIoOptions = {}) {
  const io: RecordedIo = recordedIo({ env: { TELLTALE_STORE: import.meta.filename }, ...given });
  const runtime: FakeRuntime = fakeRuntime(fake);
  const outcome = main(argv, io, undefined, runtime).then(
    (code): Outcome => ({ code, out: io.out(), err: io.err() }),
  );
  return { io, runtime, outcome };
}

export async function command(
  argv: readonly string[],
  fake: FakeOptions = {},
  given: RecordedIoOptions = {},
) {
  const { outcome, runtime } = begin(argv, fake, given);
  return { ...(await outcome), runtime };
}
