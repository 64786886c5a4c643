import { z } from 'zod';
import { closed } from './closed.ts';
import { jsonValue } from './json-value.ts';
import { name } from './names.ts';
import { flag } from './numbers.ts';

const SLIPS = {
  artifact: 'An invocation names its artifact with "invoke".',
  artifact_id: 'An invocation names its artifact with "invoke".',
  function: 'An invocation names its function with "method".',
  parameters: 'Arguments of an invocation go into "args", a list; the context is passed last by itself.',
  params: 'Arguments of an invocation go into "args", a list; the context is passed last by itself.',
  default: 'What counts when the artifact fails is "fallback".',
  else: 'What counts when the artifact fails is "fallback".',
  timeout: 'Artifacts have 100 ms each; an invocation has no timeout of its own.',
};

/** A decision taken by an artifact. `fallback` is of the type that the place wants, and is what counts on failure. */
export const invocation = <Fallback extends z.core.$ZodType>(fallback: Fallback) =>
  closed(
    { title: 'an invocation', slips: SLIPS, description: 'A decision taken by an artifact.' },
    {
      invoke: name('The artifact to ask.'),
      method: name('The method of the artifact.'),
      args: z
        .array(jsonValue('An argument.'))
        .default([])
        .describe('Arguments; the standard context is added as the last one.'),
      cache: flag('false asks afresh each time instead of once a run for the same context.').default(true),
      fallback,
    },
  );
