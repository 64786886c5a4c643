import type { ReviewDetailsInfo } from '../../telltale/src/client/api.ts';

const SCRIPT = '<img src=x onerror="document.title=1"><script>document.title="owned"</script>';

export const fixtureReviews = (now: number): readonly ReviewDetailsInfo[] => [
  {
    ...{
      review: 'rev_2',
      kind: 'permission',
      of: 'session',
      session: 'ses_0000999998',
      agent: 'release-manager',
    },
    ...{ action: 'publish', target: 'tool "shell"', what: 'npm publish --tag next', at: now - 130_000 },
    because: 'permissions.commands asks for every command that begins with "npm publish".',
    input: { command: 'npm publish --tag next', cwd: '/srv/app', env: { CI: 'true' }, dry_run: false },
  },
  {
    ...{ review: 'rev_taken', kind: 'permission', of: 'session', session: 'ses_0000999990', agent: 'coder' },
    ...{ action: 'write', target: 'tool "write_file"', what: `write ${SCRIPT}`, at: now - 90_000 },
    because: 'the tool says `approval: always`.',
    input: { path: 'index.html', content: SCRIPT.repeat(20) },
  },
  {
    ...{
      review: 'rev_w',
      kind: 'approval',
      of: 'run',
      session: 'run_7',
      agent: 'release-manager',
      workflow: 'release',
    },
    ...{
      action: 'ask',
      target: 'step "ask"',
      what: 'Ship 1.4.0 to everybody, or to the first tenth?',
      at: now - 30_000,
    },
    ...{ because: 'the step "ask" waits for a person.', options: ['everybody', 'a tenth', 'not yet'] },
    ...{ assignee: 'ann', due: now + 3_600_000 },
  },
  {
    ...{
      review: 'rev_e',
      kind: 'escalation',
      of: 'run',
      session: 'run_9',
      agent: 'coder',
      workflow: 'feature',
    },
    ...{
      action: 'build',
      target: 'step "build"',
      what: 'The step "build" needs a decision: the verifier says that two tests are missing.',
      at: now - 10_000,
    },
    ...{ because: 'agent and verifier disagree for the last time.', options: ['pass', 'retry', 'fail'] },
  },
];
