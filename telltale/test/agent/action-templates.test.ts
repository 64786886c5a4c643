import { describe, expect, it } from 'vitest';
import { runAgent, tool } from './run-agent.ts';

const FILES = { ...tool('echo', 'return input;'), ...tool('undo', 'return input;') };
const MANIFEST = `
import: { tools: [./tools/*.yml], relics: [./store.yml, ./spare.yml] }
action_templates:
  kept: { type: relic, name: store, parameters: { operation: set, key: k }, timeout: 90s, retry: 2 }
  short: { template: kept, parameters: { value: v }, timeout: 5 }
  other: { template: kept, name: spare }
  nameless: { timeout: 5 }
  undoing: { name: undo, timeout: 1m, retry: 1, parameters: { how: gently, why: template } }
  booked:
    name: echo
    compensate: { template: undoing, timeout: 2m, parameters: { why: booked } }
  plain: { name: echo, compensate: { name: undo, timeout: 30s } }
`;
const RELIC = {
  'store.yml': 'kind: Relic\nname: store\ndriver: kv\n',
  'spare.yml': 'kind: Relic\nname: spare\ndriver: kv\n',
};

/** The actions that a turn of these bodies declares, and the faults in it. */
async function declared(...bodies: readonly object[]) {
  const actions = bodies.map((body, n) => `<action id="a${n}">${JSON.stringify(body)}</action>`);
  const { of } = await runAgent({
    manifest: MANIFEST,
    files: { ...FILES, ...RELIC },
    turns: [`${actions.join('')}<response final="false">x</response>`, '<response>y</response>'],
  });
  const faults = of('fault').map(({ code, message }) => `${code}: ${message}`);
  return { actions: of('action.declared').map(({ action }) => action), faults };
}

describe('an action template', () => {
  it('gives its fields as defaults: a time-out in seconds, parameters one by one', async () => {
    const { actions } = await declared(
      { template: 'kept', parameters: { value: 1 } },
      { template: 'kept', timeout: 7, retry: 0, parameters: { key: 'mine', value: 1 } },
    );
    expect(actions).toMatchObject([
      {
        kind: 'relic',
        name: 'store',
        timeout: 90,
        retry: 2,
        parameters: { operation: 'set', key: 'k', value: 1 },
      },
      { kind: 'relic', name: 'store', timeout: 7, retry: 0, parameters: { key: 'mine' } },
    ]);
  });

  it('that names another has what it does not say from there, its type, too', async () => {
    const { actions } = await declared({ template: 'short' }, { template: 'other' });
    expect(actions).toMatchObject([
      {
        kind: 'relic',
        name: 'store',
        timeout: 5,
        retry: 2,
        parameters: { operation: 'set', key: 'k', value: 'v' },
      },
      { kind: 'relic', name: 'spare', timeout: 90 },
    ]);
  });

  it('without a name needs one from the action', async () => {
    const { actions, faults } = await declared(
      { template: 'nameless' },
      { template: 'nameless', name: 'echo' },
    );
    expect(actions).toMatchObject([{ id: 'a1', name: 'echo', timeout: 5 }]);
    expect(faults).toEqual([expect.stringMatching(/^bad_action: The action "a0" has no "name"/)]);
  });

  it('may say what undoes the action, with a time-out and by a template of its own', async () => {
    const { actions } = await declared({ template: 'plain' }, { template: 'booked' });
    expect(actions.map(({ compensate }) => compensate)).toEqual([
      { name: 'undo', timeout: 30 },
      { name: 'undo', timeout: 120, retry: 1, parameters: { how: 'gently', why: 'booked' } },
    ]);
  });

  it('is good for what undoes an action that names none itself', async () => {
    const { actions, faults } = await declared(
      { name: 'echo', compensate: { template: 'short', retry: null, timeout: 9 } },
      { name: 'echo', compensate: { template: 'nope' } },
      { name: 'echo', compensate: { template: 'nameless' } },
    );
    expect(actions.map(({ id, compensate }) => [id, compensate])).toEqual([
      [
        'a0',
        {
          type: 'relic',
          name: 'store',
          timeout: 9,
          retry: 2,
          parameters: { operation: 'set', key: 'k', value: 'v' },
        },
      ],
    ]);
    expect(faults).toEqual([
      expect.stringContaining('"nope", which does not exist'),
      expect.stringContaining('its template "nameless" has none'),
    ]);
  });

  it('is what a rollback goes by', async () => {
    const { of } = await runAgent({
      manifest: MANIFEST,
      files: { ...FILES, ...RELIC },
      turns: [
        '<action id="a" mode="sync">{"template": "booked"}</action><action type="internal">{"name": "rollback"}</action><response final="false">x</response>',
        '<response>y</response>',
      ],
    });
    expect(of('action.compensated')).toMatchObject([{ id: 'a', by: 'undo_a' }]);
    expect(of('action.started').find(({ id }) => id === 'undo_a')?.input).toEqual({
      how: 'gently',
      why: 'booked',
    });
  });
});
