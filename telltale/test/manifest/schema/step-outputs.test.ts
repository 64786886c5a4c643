import { describe, expect, it } from 'vitest';
import { checkWorkflow } from '../../../src/manifest/schema/checks/check-workflow.ts';
import { documentNode } from '../../../src/manifest/schema/checks/document-node.ts';

const ASK = { name: 'ask', type: 'approval', prompt: 'Go?', options: ['go', 'stop'] };
const MAKE = { name: 'make', type: 'script', command: ['make'] };

const said = (step: Record<string, string>, extra: Record<string, unknown> = {}): readonly string[] =>
  checkWorkflow(
    documentNode({
      kind: 'Workflow',
      name: 'w',
      ...extra,
      steps: [ASK, MAKE, { name: 'tell', type: 'notify', message: 'x', ...step }],
    } as never),
  ).map(({ severity, code, path, hint }) => `${severity} ${code} ${path.join('.')}: ${hint}`);

describe('what is read of a result that is always alike', () => {
  it.each([
    [{ message: 'By ${steps.ask.output.bye}' }, 'unknown_field steps.2.message: Did you mean "by"?'],
    [{ message: '${steps.make.output.stdot ?? 1}' }, 'unknown_field steps.2.message: Did you mean "stdout"?'],
    [{ if: 'steps.ask.output.choise == "go"' }, 'unknown_field steps.2.if: Did you mean "choice"?'],
    [{ if: 'steps.ask.output.choice == "goo"' }, 'never_matches steps.2.if: Did you mean "go"?'],
    [{ if: '"yes" != steps.ask.output.choice' }, 'never_matches steps.2.if: Answers: go, stop.'],
  ])('is a warning where it is never there, or never so: %j', (step, warning) => {
    expect(said(step)).toEqual([`warning ${warning}`]);
  });

  it('is a warning where the code of a program is asked for that has failed its step', () => {
    for (const test of ['!= 0', '> 0'])
      expect(said({ if: `steps.make.output.exit_code ${test}` })[0]).toMatch(
        /^warning never_matches steps\.2\.if: .*steps\.make\.status/,
      );
  });

  it.each([
    { message: '${steps.ask.output.note ?? none}', if: 'steps.ask.output.choice == "stop"' },
    { message: '${steps.make.output.stderr ?? none}', if: 'steps.make.output.exit_code == 0' },
    { message: '${steps.make.output}', if: 'steps.ask.output.choice != null' },
  ])('is none where it may be: %j', (step) => {
    expect(said(step)).toEqual([]);
  });

  it('is anything of a step of another type', () => {
    const note = { name: 'note', type: 'notify', message: 'x' };
    const tell = { name: 'tell', type: 'notify', message: '${steps.note.output.anything ?? x}' };
    const workflow = { kind: 'Workflow', name: 'w', steps: [ASK, note, tell] };
    expect(checkWorkflow(documentNode(workflow as never))).toEqual([]);
  });

  it('is looked at in transitions, too, and goes by the answers that there are by default', () => {
    const ask = { name: 'ask', type: 'approval', prompt: 'Go?' };
    const transitions = [{ to: 'b', condition: 'steps.ask.output.choice == "approved"' }, { to: 'b' }];
    const states = { a: { steps: [ask], transitions }, b: { final: true } };
    const machine = { kind: 'Workflow', name: 'w', initial: 'a', states };
    const found = checkWorkflow(documentNode(machine as never));
    expect(found.map(({ code, path }) => `${code} ${path.join('.')}`)).toEqual([
      'never_matches states.a.transitions.0.condition',
    ]);
  });
});
