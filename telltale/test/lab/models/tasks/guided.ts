import { defineWorkflow } from '../../../../src/agent/define/definitions.ts';
import type { Act, Move } from '../move.ts';
import type { Task, TaskKind } from '../task.ts';

const STEPS = ['STEP-SURVEY', 'STEP-CHANGE', 'STEP-TELL'] as const;

function make(nonce: (name: string) => string): Task {
  const limit = 1000 + (Number.parseInt(nonce('limit'), 16) % 9000);
  const build = `B-${nonce('build')}`;
  const workflow = defineWorkflow({
    name: 'raise_the_limit',
    description: 'Raises the limit, carefully.',
    input: { type: 'object', properties: { goal: { type: 'string' } }, required: ['goal'] },
    steps: [
      {
        name: 'survey',
        type: 'task',
        prompt: `${STEPS[0]}: find out which limit limits.conf has now. Change nothing.`,
        requires: { limit: { type: 'integer', description: 'The limit as it is.' } },
      },
      {
        name: 'change',
        type: 'task',
        prompt: `${STEPS[1]}: put twice the limit (it is \${vars.limit}) into limits.conf, and run sh build.sh.`,
        verify: {
          command: ['sh', '-c', `grep -q "limit = ${limit * 2}$" limits.conf`],
          max_retries: 2,
        },
      },
      {
        name: 'tell',
        type: 'task',
        prompt: `${STEPS[2]}: say in your notes which build has the new limit.`,
        requires: { build: { type: 'string', pattern: '^B-', description: 'What build.sh printed.' } },
      },
    ],
  });
  return {
    input: 'Double the limit.',
    agent: {
      description: 'Changes settings under a procedure.',
      instructions: 'You change settings carefully.',
      workflow: 'raise_the_limit',
      metadata: { fields: { status: { values: ['LOOKING', 'CHANGING', 'TELLING'], default: 'LOOKING' } } },
      tools: ['builtin:filesystem', 'builtin:shell'],
      permissions: { paths: ['.'], shell: 'allow' },
    },
    workflow,
    files: {
      'limits.conf': `# Do not raise without a build.\nlimit = ${limit}\n`,
      'build.sh': `echo "built ${build} with $(grep -c limit limits.conf) lines"\n`,
    },
    policy({ told, did }): Move {
      const step = STEPS.findLastIndex((name) => told.includes(name));
      const known = /limit = (\d+)/.exec(told)?.[1];
      if (step <= 0)
        return known === undefined
          ? { thought: 'A look at the file.', metadata: { status: 'LOOKING' }, acts: [READ] }
          : {
              acts: [],
              complete: {
                notes: `I read limits.conf, which holds a single setting. The limit stands at ${known} in it as of now.`,
                context_updates: { limit: Number(known) },
              },
            };
      const was = Number(/it is (\d+)/.exec(told)?.[1]);
      const built = /built (B-[0-9a-f]+)/.exec(told)?.[1];
      if (step === 1)
        return did('change') && built !== undefined
          ? {
              acts: [],
              complete: {
                notes: `I replaced the limit ${was} by ${was * 2} in limits.conf and ran the build, which went through.`,
              },
            }
          : {
              metadata: { status: 'CHANGING' },
              acts: [
                ...(did('change') ? [] : [changeLimit(was)]),
                did('change') ? BUILD : { ...BUILD, dependsOn: ['change'] },
              ],
            };
      if (built === undefined) return { acts: [BUILD] };
      return {
        metadata: { status: 'TELLING' },
        acts: [],
        complete: {
          notes: `The new limit is in the build ${built}, which I made right after I had changed limits.conf.`,
          context_updates: { build: built },
        },
      };
    },
    turns: 5,
    answers: [`The new limit is in the build ${build}, which I made right after I had changed limits.conf.`],
    changed: { 'limits.conf': `# Do not raise without a build.\nlimit = ${limit * 2}\n` },
    guess: 'The new limit is in the build B-unseen, which I made right after the change.',
  };
}

const READ: Act = {
  key: 'read',
  name: 'filesystem',
  parameters: { operation: 'read', path: 'limits.conf' },
  idempotent: true,
};

const BUILD: Act = { key: 'build', name: 'shell', parameters: { command: 'sh build.sh' } };

const changeLimit = (was: number): Act => ({
  key: 'change',
  name: 'filesystem',
  parameters: {
    operation: 'edit',
    path: 'limits.conf',
    old_text: `limit = ${was}`,
    new_text: `limit = ${was * 2}`,
  },
});

export const GUIDED: TaskKind = { name: 'guided', make };
