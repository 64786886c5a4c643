import { expect, test } from 'vitest';
import { type RunOptions, runAgent } from '../session/run-agent.ts';

/** An agent of the given manifest that says this, and then a final response. */
const ran = (said: string, manifest: string, more: Partial<RunOptions> = {}) =>
  runAgent({ manifest, turns: [said, '<response>Done.</response>'], ...more });

const relics = (files: Readonly<Record<string, string>>) => ({
  manifest: 'import: { relics: [relics/*.yml] }\n',
  files: Object.fromEntries(
    Object.entries(files).map(([name, driver]) => [
      `relics/${name}.yml`,
      `kind: Relic\nname: ${name}\ndriver: ${driver}\n`,
    ]),
  ),
});

test('a relic keeps a value without being told to set it, and gives it back', async () => {
  const { manifest, files } = relics({ results_cache: 'kv' });
  const run = await ran(
    `<action type="relic" mode="sync" id="keep">
{"name": "results_cache", "parameters": {"key": "report", "value": {"n": 1}, "ttl": 86400}}
</action>
<action type="relic" mode="sync" id="look">
{"name": "results_cache", "parameters": {"key": "report"}, "depends_on": ["keep"]}
</action>`,
    manifest,
    { files },
  );
  expect(run.of('action.failed')).toEqual([]);
  expect(run.of('action.completed').map(({ output }) => output)).toEqual([
    { key: 'report', expires_in_ms: 86_400_000 },
    { n: 1 },
  ]);
  // Hooks, reviews and the log see the operation.
  expect(run.of('action.started').map(({ input }) => input.operation)).toEqual(['set', 'get']);
});

test('a relic logs any object, and the value alone where nothing else is given', async () => {
  const { manifest, files } = relics({ logger: 'log' });
  const run = await ran(
    `<action type="relic" mode="sync" id="one">{"name": "logger", "parameters": {"event": "data_processed"}}</action>
<action type="relic" mode="sync" id="two">{"name": "logger", "parameters": {"value": 2}}</action>
<action type="relic" mode="sync" id="three">{"name": "logger", "parameters": {"key": "a", "value": 3}}</action>
<action type="relic" mode="sync" id="none">{"name": "logger", "parameters": {}}</action>
<action type="relic" mode="sync" id="read">{"name": "logger", "parameters": {"operation": "read"}}</action>`,
    manifest,
    { files },
  );
  expect(run.of('action.failed').map(({ id, error }) => `${id} ${error.code}`)).toEqual([
    'none bad_parameters',
  ]);
  expect(run.of('action.completed').at(-1)?.output).toMatchObject({
    entries: [{ value: { event: 'data_processed' } }, { value: 2 }, { value: { key: 'a', value: 3 } }],
  });
});
