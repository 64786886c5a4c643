import { z } from 'zod';
import { closed } from './closed.ts';
import { jsonValue } from './json-value.ts';
import { name } from './names.ts';
import { flag } from './numbers.ts';

const SLIPS = {
  artifact: 'Use "invoke" to name the artifact.',
  artifact_id: 'Use "invoke" to name the artifact.',
  function: 'Use "method" to name the function.',
  parameters: 'Put arguments into "args", a list. The context is always passed as the last argument.',
  params: 'Put arguments into "args", a list. The context is always passed as the last argument.',
  default: 'Use "fallback" for the value when the artifact fails.',
  else: 'Use "fallback" for the value when the artifact fails.',
  timeout: 'An invocation has no timeout of its own. Each artifact has 100 ms.',
};

/** A decision taken by an artifact. `fallback` is of the type that the place wants, and is what counts on failure. */
export const invocation = <Fallback extends z.core.$ZodType>(id: string, fallback: Fallback) =>
  closed(
    { title: 'an invocation', id, slips: SLIPS, description: 'A decision taken by an artifact.' },
    {
      invoke: name('The artifact to ask.'),
      method: name('The method of the artifact.'),
      args: z
        .array(jsonValue('An argument.'))
        .prefault([])
        .describe('Arguments; the standard context is added as the last one.'),
      cache: flag('false asks afresh each time instead of once a run for the same context.').default(true),
      fallback,
    },
  );
