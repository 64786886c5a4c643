import type { Act, Move } from '../move.ts';
import type { Task, TaskKind } from '../task.ts';

const program = (rate: string, term: string) => `# Prices after the discount.
${rate}=10

price_after() {
  echo $(( $1 ${term} ))
}
`;

/** Says its certificate only of a program that is right. */
const tests = (rate: string, certificate: string) => `. ./price.sh
failed=0
[ "$(price_after 200)" = 180 ] || failed=$((failed + 1))
[ "$(price_after 50)" = 45 ] || failed=$((failed + 1))
if [ $failed -gt 0 ]; then echo "tests: $failed of 2 failed, see ${rate}"; exit 0; fi
echo "tests: all passed, certificate ${certificate}"
`;

/** What must arrive in a file as it was written: all of it means something to some language. */
const MAKEFILE = `# $HOME stays, and so does \${CC}
CC = cc
price: price.o
\t$(CC) -o $@ $^ && echo "$$(date) {{ version }} {{user.name}} $user"
.PHONY: test
test:
\tsh tests.sh | awk '{ print $1, $$2, $NF }'
`;

const runTests: Act = { key: 'test', name: 'shell', parameters: { command: 'sh tests.sh' } };

function make(nonce: (name: string) => string): Task {
  const rate = `rate_${nonce('rate')}`;
  const certificate = `C-${nonce('certificate')}`;
  const wrong = `- $1 / ${rate} + 1`;
  const right = `- $1 / ${rate}`;
  return {
    input:
      'The tests of price.sh fail (sh tests.sh). Fix the program, write a Makefile that runs the tests, and tell me the certificate that the tests print.',
    agent: {
      description: 'Fixes programs.',
      instructions: 'You fix shell programs. Change as little as you can, and prove it with the tests.',
      metadata: { fields: { status: { values: ['READING', 'FIXING', 'DONE'], default: 'READING' } } },
      tools: ['builtin:filesystem', 'builtin:shell'],
      permissions: { paths: ['.'], shell: 'allow' },
    },
    files: { 'price.sh': program(rate, wrong), 'tests.sh': tests(rate, certificate) },
    policy({ told, did }): Move {
      const passed = /certificate (C-[0-9a-f]+)/.exec(told)?.[1];
      const found = /\$1 \/ (rate_[0-9a-f]+)/.exec(told)?.[1];
      if (passed !== undefined && did('makefile', /Makefile/))
        return {
          metadata: { status: 'DONE' },
          acts: [],
          final: `The tests pass now. The certificate is ${passed}.`,
        };
      if (found === undefined || !/tests: \d/.test(told))
        return {
          thought: 'First the program, and what the tests say.',
          metadata: { status: 'READING' },
          acts: [...(found === undefined ? [READ] : []), ...(/tests: \d/.test(told) ? [] : [runTests])],
        };
      const isFixed = did('edit');
      return {
        thought: 'It adds one where it should not.',
        metadata: { status: 'FIXING' },
        acts: [
          ...(isFixed ? [] : [edit(`- $1 / ${found} + 1`, `- $1 / ${found}`)]),
          ...(did('makefile', /Makefile/) ? [] : [WRITE_MAKEFILE]),
          ...(passed !== undefined ? [] : [{ ...runTests, ...(isFixed ? {} : { dependsOn: ['edit'] }) }]),
        ],
      };
    },
    turns: 3,
    answers: [`The tests pass now. The certificate is ${certificate}.`],
    changed: { 'price.sh': program(rate, right), Makefile: MAKEFILE },
    guess: 'The tests pass now. The certificate is C-unseen.',
  };
}

const READ: Act = {
  key: 'read',
  name: 'filesystem',
  parameters: { operation: 'read', path: 'price.sh' },
  idempotent: true,
};

const WRITE_MAKEFILE: Act = {
  key: 'makefile',
  name: 'filesystem',
  parameters: { operation: 'write', path: 'Makefile', content: MAKEFILE },
  idempotent: true,
};

const edit = (old_text: string, new_text: string): Act => ({
  key: 'edit',
  name: 'filesystem',
  parameters: { operation: 'edit', path: 'price.sh', old_text, new_text },
});

export const FIX: TaskKind = { name: 'fix', make };
