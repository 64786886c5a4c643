import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRuntime, defineAgent, loadAgent, validateManifests } from '../../src/index.ts';

const NAME = 'TELLTALE_TEST_GREETING';

describe('the library reads the environment of its process', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'telltale-environment-'));
    writeFileSync(
      join(folder, 'greeter.yml'),
      `kind: Agent\nname: greeter\nmodel: scripted:greeter.script.yml\ninstructions: Say \${${NAME}}.\n`,
    );
    writeFileSync(
      join(folder, 'greeter.script.yml'),
      'turns:\n  - <response final="true">Hello.</response>\n',
    );
    process.env[NAME] = 'hello from the process';
  });
  afterEach(() => {
    delete process.env[NAME];
    rmSync(folder, { recursive: true, force: true });
  });

  test('for the variables of a manifest', async () => {
    const agent = await loadAgent(join(folder, 'greeter.yml'));
    expect(agent.manifest.instructions).toBe('Say hello from the process.');
    expect((await validateManifests([join(folder, 'greeter.yml')])).ok).toBe(true);
  });

  test('and calls a variable unset only where it is', async () => {
    delete process.env[NAME];
    await expect(loadAgent(join(folder, 'greeter.yml'))).rejects.toMatchObject({
      diagnostics: [{ code: 'env_unset', message: `The environment variable ${NAME} is not set.` }],
    });
  });

  test('and a program can pass another environment', async () => {
    const agent = await loadAgent(join(folder, 'greeter.yml'), { env: { [NAME]: 'hello from a program' } });
    expect(agent.manifest.instructions).toBe('Say hello from a program.');
  });

  test('for what an agent may see of it', async () => {
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const agent = await defineAgent(
      {
        name: 'reader',
        model: 'scripted:reader.script.yml',
        permissions: { environment: [NAME] },
        context_feeds: [{ id: 'greeting', type: 'on_demand', source: { type: 'internal', action: 'env' } }],
      },
      { folder },
    );
    writeFileSync(
      join(folder, 'reader.script.yml'),
      `turns:\n  - expect: [hello from the process]\n    text: <response final="true">Seen.</response>\n`,
    );
    try {
      const session = await runtime.start(agent, { input: 'What do you see?' });
      expect(await session.result).toMatchObject({ status: 'completed', result: 'Seen.' });
    } finally {
      await runtime.close();
    }
  });
});
