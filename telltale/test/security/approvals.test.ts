import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { findSandbox } from '../../src/tools/process/find-sandbox.ts';
import { telltale } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

const HONEST = 'echo honest > honest.txt\n';
const HOSTILE = 'echo hostile > hostile.txt\n';
const sandbox = await findSandbox({ PATH: process.env.PATH });

const shellAction = (command: string) =>
  `<action id="s">${JSON.stringify({ name: 'shell', parameters: { command } })}</action>`;

interface Scene {
  readonly turns: readonly string[];
  readonly permissions?: string;
  readonly imports?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** An agent that may ask for commands, and a runtime in its folder. */
async function scene({ turns, permissions = 'shell: ask, sandbox: "off"', imports = '', files = {} }: Scene) {
  const cwd = temporaryProject({
    'telltale.yml': '',
    'agent.yml': `kind: Agent\nname: worker\nmodel: scripted:./turns.yml\nimport: { tools: ["builtin:shell", "builtin:filesystem", "builtin:git"${imports}], workflows: ["./*.flow.yml"] }\npermissions: { ${permissions} }\n`,
    'turns.yml': `turns: ${JSON.stringify(turns)}\n`,
    ...files,
  });
  const runtime = await createRuntime({
    store: 'memory',
    cwd,
    env: { PATH: process.env.PATH },
  });
  onTestFinished(() => runtime.close());
  const agent = () => loadAgent('agent.yml', { cwd });
  const open = async () => {
    const [review] = await runtime.reviews();
    if (review === undefined) throw new Error('nothing waits for a person');
    return runtime.review(review.review);
  };
  return {
    cwd,
    runtime,
    agent,
    open,
    has: (name: string) => existsSync(join(cwd, name)),
    rewrite: (name: string, text: string) => writeFileSync(join(cwd, name), text),
    start: async () =>
      runtime.start(await agent(), { input: 'Go.', model: scripted(turns), id: 'ses_a' }).result,
    async approve() {
      const { review } = await open();
      await runtime.answer(review, { approved: true, by: 'ann' });
      return review;
    },
    async resume() {
      const session = await runtime.resume('ses_a', {
        agent: await agent(),
        model: scripted([...turns.slice(1), DONE, DONE]),
      });
      return session.result;
    },
  };
}

const DONE = '<response>Done.</response>';
const TURNS = [shellAction('sh build.sh'), DONE];

describe('an approved command', () => {
  it('runs where nothing has changed since', async () => {
    const { start, approve, resume, has } = await scene({ turns: TURNS, files: { 'build.sh': HONEST } });
    expect((await start()).status).toBe('waiting');
    await approve();
    expect((await resume()).status).toBe('completed');
    expect(has('honest.txt')).toBe(true);
  });

  it('does not run a script that was rewritten after the approval: a person is asked again, and sees what changed', async () => {
    const { rewrite, start, approve, resume, open, has } = await scene({
      turns: TURNS,
      files: { 'build.sh': HONEST },
    });
    await start();
    expect((await open()).files).toEqual([{ path: 'build.sh', content: expect.stringMatching(/^sha256:/) }]);
    const first = await approve();
    rewrite('build.sh', HOSTILE);
    expect((await resume()).status).toBe('waiting');
    expect(has('hostile.txt')).toBe(false);
    const again = await open();
    expect(again.replaces?.review).toBe(first);
    expect(again.replaces?.changed).toEqual([
      expect.stringMatching(/^the file "build.sh" has changed: it is sha256:\w+, and was sha256:\w+$/),
    ]);
    await approve();
    expect((await resume()).status).toBe('completed');
    expect(has('hostile.txt')).toBe(true); // what the second approval was of
  });

  it('is asked about anew where the model rewrites the script in the same turn, before the answer', async () => {
    const write = JSON.stringify({
      name: 'filesystem',
      parameters: { operation: 'write', path: 'build.sh', content: HOSTILE },
    });
    const { start, approve, resume, has } = await scene({
      turns: [`${shellAction('sh build.sh')}<action id="w">${write}</action>`, DONE],
      files: { 'build.sh': HONEST },
    });
    expect((await start()).status).toBe('waiting');
    await approve();
    expect((await resume()).status).toBe('waiting');
    expect([has('honest.txt'), has('hostile.txt')]).toEqual([false, false]);
  });

  it('is asked about anew where git puts another version of the script in its place', async () => {
    const { cwd, start, approve, resume, has, rewrite } = await scene({
      turns: TURNS,
      files: { 'build.sh': HOSTILE },
    });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd, stdio: 'pipe' });
    git('init', '-q');
    git('add', 'build.sh');
    git('commit', '-qm', 'One');
    rewrite('build.sh', HONEST);
    await start();
    await approve();
    git('checkout', '--', 'build.sh');
    expect((await resume()).status).toBe('waiting');
    expect(has('hostile.txt')).toBe(false);
  });

  it.each([
    [
      'a script that the script reads',
      'sh build.sh',
      { 'build.sh': '. ./lib.sh\n', 'lib.sh': HONEST },
      'lib.sh',
    ],
    ['a program by its path', './build.sh', { 'build.sh': `#!/bin/sh\n${HONEST}` }, 'build.sh'],
    ['a script below another folder', 'cd sub && sh build.sh', { 'sub/build.sh': HONEST }, 'sub/build.sh'],
    ['the value of an option', 'true --file=data.txt', { 'data.txt': 'one' }, 'data.txt'],
    ['what is redirected to standard input', 'cat < data.txt', { 'data.txt': 'one' }, 'data.txt'],
    ['a script in a quoted line', 'timeout 5 sh -c ". ./build.sh"', { 'build.sh': HONEST }, 'build.sh'],
    ['the Makefile', 'make', { Makefile: 'all:\n\ttrue\n' }, 'Makefile'],
    ['package.json', 'npm run build', { 'package.json': '{}' }, 'package.json'],
    [
      'a module that the module imports',
      'node main.mjs',
      { 'main.mjs': "import './dep.mjs';\n", 'dep.mjs': '' },
      'dep.mjs',
    ],
  ] as const)('is asked about anew where %s has changed', async (_what, command, files, changed) => {
    const { cwd, start, approve, resume, open, rewrite } = await scene({
      turns: [shellAction(command), DONE],
      files,
    });
    if (command.startsWith('./')) execFileSync('chmod', ['+x', join(cwd, 'build.sh')]);
    await start();
    await approve();
    rewrite(changed, HOSTILE);
    expect((await resume()).status).toBe('waiting');
    expect((await open()).replaces?.changed.join()).toContain(`"${changed}"`);
  });

  it('is asked about anew where a script that was not there has been made', async () => {
    const { start, approve, resume, open, rewrite, has } = await scene({ turns: TURNS });
    await start();
    expect(await open()).toMatchObject({
      files: [{ path: 'build.sh', content: 'missing' }],
      uncovered: ['"build.sh" is not there yet'],
    });
    await approve();
    rewrite('build.sh', HOSTILE);
    expect((await resume()).status).toBe('waiting');
    expect(has('hostile.txt')).toBe(false);
  });

  it('is asked about anew where a link leads elsewhere, even to the same content', async () => {
    const { cwd, start, approve, resume, open } = await scene({
      turns: TURNS,
      files: { 'one.sh': HONEST, 'two.sh': HONEST },
    });
    symlinkSync('one.sh', join(cwd, 'build.sh'));
    await start();
    expect((await open()).files).toMatchObject([{ path: 'build.sh', leads: 'one.sh' }]);
    await approve();
    rmSync(join(cwd, 'build.sh'));
    symlinkSync('two.sh', join(cwd, 'build.sh'));
    expect((await resume()).status).toBe('waiting');
  });

  it('is asked about anew in a workflow, too', async () => {
    const { runtime, agent, rewrite, has, approve, open } = await scene({
      turns: [DONE],
      files: {
        'build.sh': HONEST,
        'go.flow.yml':
          'kind: Workflow\nname: go\ntrigger: { type: manual }\nsteps:\n  - { name: build, type: tool, target: shell, parameters: { command: sh build.sh } }\n',
      },
    });
    const workflow = findWorkflow(await agent(), 'go');
    const run = runtime.workflows.start(workflow, { id: 'run_a' });
    await expect.poll(async () => (await runtime.reviews()).length).toBe(1);
    const first = (await open()).review;
    rewrite('build.sh', HOSTILE);
    await approve();
    await expect.poll(async () => (await runtime.reviews())[0]?.review).not.toBe(first);
    await expect.poll(async () => (await runtime.reviews()).length).toBe(1);
    expect((await open()).replaces?.changed.join()).toContain('"build.sh" has changed');
    expect(has('hostile.txt')).toBe(false);
    await runtime.workflows.cancel('run_a', 'seen enough');
    await run.result;
  });

  it('is asked about anew where it is a command tool whose parameter names the script', async () => {
    const { start, approve, resume, rewrite, has, open } = await scene({
      turns: ['<action id="r">{"name":"run","parameters":{"script":"build.sh"}}</action>', DONE],
      imports: ', ./run.yml',
      files: {
        'build.sh': HONEST,
        'run.yml':
          'kind: Tool\nname: run\napproval: always\nparameters: { type: object, properties: { script: { type: string } } }\nimplementation: { command: [sh, "{script}"] }\n',
      },
    });
    await start();
    await approve();
    rewrite('build.sh', HOSTILE);
    expect((await resume()).status).toBe('waiting');
    expect((await open()).replaces?.changed.join()).toContain('"build.sh" has changed');
    expect(has('hostile.txt')).toBe(false);
  });
});

describe('what an approval cannot cover', () => {
  it.each([
    ['sh $SCRIPT', '"$SCRIPT" is only known when it runs'],
    ['sh *.sh', '"*.sh" is only known when it runs'],
    ['sh $(ls)', 'it holds a command substitution'],
    ['cat build.sh | sh', '"sh" reads its commands from standard input'],
    ['X=1 sh build.sh', 'it sets X'],
    ['ls | xargs sh', 'it holds the arguments that "xargs" adds'],
    ['npx cowsay', '"npx" may run files that the command line does not name'],
    ['pytest tests/', 'the folder "tests/" is named as a whole'],
    ['cp other.sh build.sh && sh build.sh', 'the command itself may change "build.sh" before it runs'],
    ['dd if=other.sh of=build.sh; sh build.sh', 'the command itself may change "build.sh" before it runs'],
    ['sort -obuild.sh other.sh; sh build.sh', 'the command itself may change "build.sh" before it runs'],
    ['uniq other.sh build.sh; sh build.sh', 'the command itself may change "build.sh" before it runs'],
    ['cp -t. tests/build.sh; sh build.sh', 'the command itself may change "build.sh" before it runs'],
    [
      "split --filter='sh late.sh' build.sh",
      'the option "--filter=sh late.sh" of "split" runs another program',
    ],
    [
      'install -s --strip-program=./late.sh build.sh copy.sh',
      'the option "--strip-program=./late.sh" of "install" runs another program',
    ],
    ['sh deep.sh', 'deep.sh: "$1" is only known when it runs'],
  ])('is said in the review of %j, and refused where approvals are strict', async (command, reason) => {
    const files = {
      'build.sh': HONEST,
      'other.sh': HONEST,
      'deep.sh': 'sh "$1"\n',
      'tests/a.py': '',
    };
    const turns = [shellAction(command), DONE];
    const asked = await scene({ turns, files });
    expect((await asked.start()).status).toBe('waiting');
    expect((await asked.open()).uncovered).toContain(reason);

    const strict = await scene({ turns, files, permissions: 'shell: ask, approval: strict, sandbox: "off"' });
    expect((await strict.start()).status).toBe('completed');
    const failed = (await strict.runtime.events('ses_a')).find(({ type }) => type === 'action.failed');
    expect(failed).toMatchObject({
      error: { code: 'not_permitted', message: expect.stringContaining(reason) },
    });
    expect(JSON.stringify(failed)).toContain('Name each file that runs');
  });

  it.each(['sh build.sh', './build.sh', 'cat notes.txt', 'cd sub; sh ../build.sh', 'node main.mjs'])(
    'is nothing of %j, which strict approvals ask about',
    async (command) => {
      const { cwd, start, open } = await scene({
        turns: [shellAction(command), DONE],
        permissions: 'shell: ask, approval: strict',
        files: {
          'build.sh': `#!/bin/sh\nset -eu\n${HONEST}`,
          'notes.txt': '',
          'sub/x': '',
          'main.mjs': 'console.log(1);\n',
        },
      });
      execFileSync('chmod', ['+x', join(cwd, 'build.sh')]);
      expect((await start()).status).toBe('waiting');
      expect((await open()).uncovered).toBeUndefined();
    },
  );

  it('is refused for a command tool with "approval: strict"', async () => {
    const { start, runtime } = await scene({
      turns: ['<action id="r">{"name":"run"}</action>', DONE],
      imports: ', ./run.yml',
      files: {
        'run.yml': 'kind: Tool\nname: run\napproval: strict\nimplementation: { command: [make, all] }\n',
      },
    });
    expect((await start()).status).toBe('completed');
    expect(JSON.stringify(await runtime.events('ses_a'))).toContain('\\"approval: strict\\" requires that');
  });

  it('is shown by the command line, with the files that are covered', async () => {
    const { cwd } = await scene({
      turns: [shellAction('make && sh build.sh'), DONE],
      files: { 'build.sh': HONEST },
    });
    expect((await telltale(['run', 'agent.yml', 'Go'], cwd)).code).toBe(3);
    const { out } = await telltale(['reviews', 'show', 'last'], cwd);
    expect(out).toMatch(/Files that an approval covers\n {2}build\.sh {2}sha256:\w{64}/);
    expect(out).toContain(
      'This command may run other files that this approval does not cover: "make" may run',
    );
  });
});

describe.runIf(sandbox.found)('in the sandbox', () => {
  it('the approved bytes run, also where the script is rewritten while it runs', async () => {
    // A shell reads its script piece by piece: this one is longer than a piece.
    const PADDING = `# ${'x'.repeat(78)}\n`.repeat(1_000);
    const slow = (last: string) =>
      `echo one >> log.txt\nwhile test ! -e rewritten; do sleep 0.05; done\n${PADDING}echo ${last} >> log.txt\n`;
    const { cwd, start, approve, resume, rewrite } = await scene({
      turns: TURNS,
      permissions: 'shell: ask',
      files: { 'build.sh': slow('two'), 'log.txt': '' },
    });
    await start();
    await approve();
    const ended = resume();
    await expect.poll(() => readFileSync(join(cwd, 'log.txt'), 'utf8')).toBe('one\n');
    rewrite('build.sh', slow('bad'));
    rewrite('rewritten', '');
    expect((await ended).status).toBe('completed');
    expect(readFileSync(join(cwd, 'log.txt'), 'utf8')).toBe('one\ntwo\n');
  });
});

describe('a denied program', () => {
  it.each([
    '/bin/rm keep.txt',
    './tidy keep.txt',
    "'r'm keep.txt",
    'env -i /bin/rm keep.txt',
    'timeout 5 rm keep.txt',
    'sh -c "exec rm keep.txt"',
    'setsid -f rm keep.txt',
    'env -iS "/bin/rm keep.txt"',
    'script -qc "rm keep.txt" /dev/null',
    'prlimit --nofile=64 rm keep.txt',
    'echo keep.txt | xargs rm',
    'find . -name keep.txt -exec rm {} +',
  ])('is not run by %j', async (command) => {
    const { cwd, start, has, runtime } = await scene({
      turns: [shellAction(command), DONE],
      permissions: 'shell: { allow: ["*"], deny: ["rm *"] }, sandbox: "off"',
      files: { 'keep.txt': 'kept' },
    });
    symlinkSync('/bin/rm', join(cwd, 'tidy'));
    expect((await start()).status).toBe('completed');
    expect(has('keep.txt')).toBe(true);
    const failed = (await runtime.events('ses_a')).find(({ type }) => type === 'action.failed');
    expect(failed).toMatchObject({
      error: {
        code: 'not_permitted',
        message: expect.stringContaining(`not allowed to run the command "${command}"`),
      },
    });
  });
});
