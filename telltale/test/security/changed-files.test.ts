import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { recordedIo } from '../cli/recorded-io.ts';

const AGENT = `permissions: { sandbox: "off" }
import: { tools: [./tools/*.yml], workflows: [./flow.yml] }
`;

const scene = () =>
  agentFolder(AGENT, {
    ...tool('note', "const { text } = await import('./text.mjs');\nreturn text;"),
    'tools/text.mjs': "export const text = 'one';\n",
    'tools/count.yml': 'kind: Tool\nname: count\nimplementation: { command: [sh, ./count.sh] }\n',
    'count.sh': 'echo 1\n',
    'build.sh': 'echo built\n',
    'none.yml': 'turns:\n  - |\n    <response>Done.</response>\n',
    'flow.yml': `kind: Workflow
name: release
steps:
  - { name: sure, type: approval, prompt: "Sure?" }
  - { name: build, type: script, command: [sh, ./build.sh] }
`,
  });

const CASES = [
  ['the script of a command tool', 'count.sh'],
  ['the script of a workflow step', 'build.sh'],
  ['the module of a tool', 'tools/note.mjs'],
  ['a module that a tool imports', 'tools/text.mjs'],
  ['a scripted model', 'none.yml'],
] as const;

describe('a file that a manifest names', () => {
  it.each(CASES)('is reported by a session that is resumed after a change of %s', async (_what, file) => {
    const folder = scene();
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    try {
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const model = scripted(['<response>One.</response>', '<response>Two.</response>'], {
        id: 'scripted:test',
      });
      const session = runtime.start(agent, { input: 'Go.', model, chat: true });
      await expect.poll(async () => (await runtime.state(session.id)).idle).toBe(true);
      await session.interrupt();
      appendFileSync(join(folder, file), '\n');
      const resumed = await runtime.resume(session.id, { agent, model });
      await resumed.interrupt();
      const events = await runtime.events(session.id);
      expect(events.filter(({ type }) => type === 'session.resumed')).toMatchObject([
        { changed_files: [file] },
      ]);
      const again = await runtime.resume(session.id, { agent, model });
      await again.interrupt();
      const last = (await runtime.events(session.id)).findLast(({ type }) => type === 'session.resumed');
      expect(last).not.toHaveProperty('changed_files');
    } finally {
      await runtime.close();
    }
  });

  it.each(CASES)('is reported by a run that is resumed after a change of %s', async (_what, file) => {
    const folder = scene();
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    try {
      const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'release' });
      const { run } = await runtime.workflows.start(workflow).result;
      appendFileSync(join(folder, file), '\n');
      const [{ review = '' } = {}] = await runtime.reviews();
      await runtime.answer(review, { approved: true });
      expect(await (await runtime.workflows.resume(run)).result).toMatchObject({ status: 'completed' });
      const events = await runtime.workflows.events(run);
      const resumed = events.filter(({ type }) => type === 'workflow.resumed');
      expect(resumed[0]).toMatchObject({ changed_files: [file] });
    } finally {
      await runtime.close();
    }
  });

  it('is named on the output of the command that resumes', async () => {
    const folder = scene();
    const telltale = async (...argv: readonly string[]) => {
      const io = {
        ...recordedIo({ cwd: folder, env: { PATH: '/usr/bin:/bin' } }),
        clock: createSystemClock(),
      };
      await main([...argv, '--store', 'sqlite:runs.db'], io);
      return io.out() + io.err();
    };
    await telltale('workflow', 'run', 'agent.yml', 'release', '--id', 'run_r');
    writeFileSync(join(folder, 'build.sh'), 'echo other\n');
    await telltale('reviews', 'approve', 'last');
    expect(await telltale('workflow', 'resume', 'run_r')).toContain('changed since: build.sh');
  });

  it('is not reported where the log says nothing of files', async () => {
    const folder = agentFolder('', {});
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    try {
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const model = scripted(['<response>One.</response>'], { id: 'scripted:test' });
      const session = runtime.start(agent, { input: 'Go.', model, chat: true });
      await expect.poll(async () => (await runtime.state(session.id)).idle).toBe(true);
      await session.interrupt();
      writeFileSync(join(folder, 'none.yml'), 'turns: []\n');
      await (await runtime.resume(session.id, { agent, model })).interrupt();
      const events = await runtime.events(session.id);
      expect(events[0]).not.toHaveProperty('manifest.files');
      expect(events.find(({ type }) => type === 'session.resumed')).not.toHaveProperty('changed_files');
    } finally {
      await runtime.close();
    }
  });
});
