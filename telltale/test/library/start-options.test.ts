import { expect, it } from 'vitest';
import { createRuntime, defineAgent, type LoadedAgent, type StartOptions } from '../../src/index.ts';
import { scripted } from '../../src/testing/scripted.ts';

it('a start without an agent or an input says what is missing', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const definition = { name: 'x', model: scripted(['<response>Hi.</response>']) };
  const agent = await defineAgent(definition);
  const start = (given: unknown, options: unknown) => () =>
    runtime.start(given as LoadedAgent, options as StartOptions);
  for (const options of [{}, undefined, { input: 5 }])
    expect(start(agent, options)).toThrow(expect.objectContaining({ code: 'bad_option' }));
  for (const given of [undefined, defineAgent(definition)])
    expect(start(given, { input: 'x' })).toThrow(expect.objectContaining({ code: 'bad_option' }));
  await runtime.close();
});
