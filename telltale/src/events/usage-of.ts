import type { Usage } from './turn-event.ts';

/** Totals as the usage of all that they are of: estimated where a part of it was. */
export const usageOf = ({
  input,
  output,
  estimated,
}: {
  readonly input: number;
  readonly output: number;
  readonly estimated?: boolean | undefined;
}): Usage => (estimated === true ? { input, output, estimated } : { input, output });
