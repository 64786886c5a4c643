// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the manifests under test hold such references
import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { agent, fields, found, said } from './said.ts';

describe('metadata fields', () => {
  it.each([
    [{ type: 'enum', values: ['A', 'B'], default: 'C' }, '"C" is not A or B'],
    [{ type: 'string', max_length: 3, default: 'long' }, '"long" is longer than 3'],
    [{ type: 'string', pattern: '^[a-z]+$', default: 'ABC' }, '"ABC" does not match the pattern ^[a-z]+$'],
    [{ type: 'number', min: 5, default: 3 }, '3 is less than the minimum 5'],
    [{ type: 'number', max: 5, default: 7 }, '7 is greater than the maximum 5'],
    [{ type: 'number', integer: true, default: 1.5 }, '1.5 is not a whole number'],
    [{ type: 'boolean', default: 'yes' }, '"yes" is not true or false'],
    [{ type: 'array', items: { type: 'number' }, default: [1, 'x'] }, 'item 2: "x" is not a number'],
    [{ type: 'array', max_items: 1, default: [1, 2] }, 'it has 2 items, but at most 1 are allowed'],
    [{ type: 'object', default: [] }, 'an empty list is not a map'],
    [
      { type: 'object', schema: { properties: { a: { type: 'string' } } }, default: { a: 1 } },
      '/a must be string',
    ],
    [{ type: 'string', default: null }, 'a field without a default is null'],
  ])('a default must satisfy its field: %j', (field, why) => {
    expect(said(fields({ f: field }))).toEqual([
      `bad_default metadata.fields.f.default: The default does not fit its field: ${why}. | Correct it, or remove it.`,
    ]);
  });

  it('a range must hold something', () => {
    expect(found(fields({ n: { type: 'number', min: 5, max: 3 } }))).toEqual([
      'empty_range metadata.fields.n.min',
    ]);
  });

  it('an enum lists each value once, and at least one', () => {
    expect(found(fields({ a: { values: ['A', 'A'] }, b: { values: [] } }))).toEqual([
      'not_allowed metadata.fields.b.values',
      'duplicate metadata.fields.a.values.1',
    ]);
  });

  it('a pattern must be one that linear-time engines take', () => {
    expect(
      found(fields({ s: { type: 'string', pattern: '(?=x)' }, t: { type: 'string', pattern: '(a)\\1' } })),
    ).toEqual(['bad_pattern metadata.fields.s.pattern', 'bad_pattern metadata.fields.t.pattern']);
  });

  it('there are no more than the limit', () => {
    const three = { a: { type: 'boolean' }, b: { type: 'boolean' }, c: { type: 'boolean' } };
    expect(found(agent({ metadata: { limits: { fields: 2 }, fields: three } }))).toEqual([
      'too_many metadata.fields',
    ]);
  });

  it('an item may be a list in turn', () => {
    expect(
      found(
        fields({
          grid: {
            type: 'array',
            items: { type: 'array', items: { type: 'number', max: 1 } },
            default: [[2]],
          },
        }),
      ),
    ).toEqual(['bad_default metadata.fields.grid.default']);
  });

  it('an injection template names fields that are there', () => {
    const template = 'Now {curent}\n- status: {values} {values.stauts}';
    expect(
      said(agent({ metadata: { fields: { status: { values: ['A'] } }, injection: { template } } })),
    ).toEqual([
      'unknown_placeholder metadata.injection.template: The template has no placeholder {curent}. | Did you mean "current"? Placeholders: {fields} {current} {errors} {values.NAME}; fields: status.',
      'unknown_placeholder metadata.injection.template: The template has no placeholder {values.stauts}. | Did you mean "status"? Placeholders: {fields} {current} {errors} {values.NAME}; fields: status.',
    ]);
  });
});

describe('a line of an injection template', () => {
  const told = (template: string) =>
    said(agent({ metadata: { fields: { status: { values: ['A'] } }, injection: { template } } }));

  it.each([
    '- status: {values} (now {current_value})',
    '  -  status:{current_value}',
    'S: {values.status} {current}',
  ])('may be %j', (template) => expect(told(`Fields:\n${template}\n`)).toEqual([]));

  it.each([
    ['Now {current_value}', '{current_value}', ''],
    ['- status\n: {values}', '{values}', ''],
    ['- stauts: {values}', '{values}', 'Did you mean "- status:"? '],
  ])('that is of no field has no %j', (template, whole, meant) => {
    expect(told(template)).toEqual([
      `unknown_placeholder metadata.injection.template: ${whole} is on a line that belongs to no field. | ${meant}Begin the line with "- NAME:", or write {values.NAME}; fields: status.`,
    ]);
  });
});

describe('context variables', () => {
  it('have one name each, whatever their class', () => {
    const context_variables = { defined: [{ name: 'x' }], runtime: [{ name: 'x' }] };
    expect(said(agent({ context_variables }))).toEqual([
      'duplicate context_variables.runtime.0.name: There are two context variables named "x". | The first is at context_variables.defined[0]. Rename this one.',
    ]);
  });

  it('are not named like what conditions know already', () => {
    expect(found(agent({ context_variables: { runtime: [{ name: 'metadata' }] } }))).toEqual([
      'reserved_name context_variables.runtime.0.name',
    ]);
  });

  it('have a default of their type', () => {
    expect(
      found(agent({ context_variables: { runtime: [{ name: 'n', type: 'number', default: 'x' }] } })),
    ).toEqual(['bad_default context_variables.runtime.0.default']);
  });

  it('that are derived from each other are shown as a cycle', () => {
    const derived = [
      { name: 'a', expression: 'vars.b' },
      { name: 'b', expression: 'c && true' },
      { name: 'c', expression: 'vars.a' },
    ];
    expect(said(agent({ context_variables: { derived } }))).toEqual([
      'cycle context_variables.derived.0.expression: These derived variables define each other in a cycle: a → b → c → a. | Break the cycle: use triggers for one of them.',
    ]);
  });

  it('that are derived read only what is declared', () => {
    const derived = [{ name: 'a', expression: 'vars.attemps > 1 && metadata.staus == "A"' }];
    const document = agent({
      metadata: { fields: { status: { values: ['A'] } } },
      context_variables: { runtime: [{ name: 'attempts' }], derived },
    });
    expect(said(document)).toEqual([
      'unknown_name context_variables.derived.0.expression: "vars" has no "attemps". | Did you mean "attempts"?',
      'unknown_name context_variables.derived.0.expression: "metadata" has no "staus". | Did you mean "status"?',
    ]);
  });

  it('that are derived have triggers or an expression, not both and not neither', () => {
    const both = { name: 'a', expression: 'true', triggers: [{ type: 'agent_turn_count', at_least: 1 }] };
    expect(found(agent({ context_variables: { derived: [both, { name: 'b' }] } }))).toEqual([
      'exclusive context_variables.derived.0.expression',
      'missing context_variables.derived.1',
    ]);
  });

  it('that watch metadata name declared fields', () => {
    const derived = [{ name: 'a', triggers: [{ type: 'metadata_match', conditions: { stats: 'A' } }] }];
    expect(
      said(agent({ metadata: { fields: { status: { values: ['A'] } } }, context_variables: { derived } })),
    ).toEqual([
      'unknown_field context_variables.derived.0.triggers.0.conditions.stats: There is no metadata field "stats". | Did you mean "status"?',
    ]);
  });
});

describe("a variable that a permission goes by is out of the model's hand", () => {
  const withVariable = (variables: Record<string, unknown>) =>
    agent({ context_variables: variables, permissions: { paths: ['$root', '${vars.root}/src'] } });

  it('written by the model', () => {
    expect(said(withVariable({ runtime: [{ name: 'root', writers: ['model'] }] }))[0]).toContain(
      'model_controlled permissions.paths.0: The variable "root" is used by a permission, and the model may write it.',
    );
  });

  it('without writers, so that the model may write it', () => {
    expect(found(withVariable({ defined: [{ name: 'root' }] }))).toEqual([
      'model_controlled permissions.paths.0',
      'model_controlled permissions.paths.1',
    ]);
  });

  it("derived from an agent's text, also through another variable", () => {
    const derived = [
      { name: 'root', expression: 'said' },
      { name: 'said', triggers: [{ type: 'agent_text', match: { equals: '/etc' } }] },
    ];
    expect(said(withVariable({ derived }))[0]).toContain(
      'it is derived from "said": it is derived from an agent\'s text',
    );
  });

  it('derived from metadata', () => {
    const derived = [{ name: 'root', expression: 'metadata.status' }];
    expect(
      found(
        agent({
          metadata: { fields: { status: { type: 'string' } } },
          context_variables: { derived },
          permissions: { network: ['$root'] },
        }),
      ),
    ).toEqual(['model_controlled permissions.network.0']);
  });

  it.each([
    [
      { type: 'metadata_match', conditions: { status: 'X' } },
      'it is derived from metadata, which the model declares',
    ],
    ...[
      'thought',
      'text',
      'response',
      'model.output',
      'action.declared',
      'metadata.changed',
      'variable.changed',
    ].map((event): [object, string] => [
      { type: 'event', event },
      `it is derived from the event ${event}, which a model can cause`,
    ]),
    [
      { type: 'tool_response', tool: 't', reset_on: [{ type: 'agent_text', match: { equals: 'x' } }] },
      "it is derived from an agent's text",
    ],
    [
      { type: 'timer_expired', after: 5, reset_on: [{ type: 'event', event: 'thought' }] },
      'it is derived from the event thought, which a model can cause',
    ],
  ])('set or put back by %j', (trigger, why) => {
    const lines = said({
      ...withVariable({
        derived: [{ name: 'root', triggers: [{ type: 'agent_turn_count', at_least: 2 }, trigger] }],
      }),
      metadata: { fields: { status: { type: 'string' } } },
    });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(`The variable "root" is used by a permission, and ${why}.`);
  });

  it('put back by what it says of itself', () => {
    const derived = [
      {
        name: 'root',
        triggers: [{ type: 'tool_response', tool: 't' }],
        reset_on: [{ type: 'agent_text', match: { equals: 'x' } }],
      },
    ];
    expect(found(withVariable({ derived }))).toEqual([
      'model_controlled permissions.paths.0',
      'model_controlled permissions.paths.1',
    ]);
  });

  it('through a chain of others, whichever of them reads it first', () => {
    const derived = [
      { name: 'root', expression: 'c + "/x"' },
      { name: 'other', expression: 'a' },
      { name: 'c', expression: 'b + other' },
      { name: 'b', expression: 'a' },
    ];
    const runtime = [{ name: 'a', writers: ['user', 'model'] }];
    expect(said(withVariable({ runtime, derived }))[0]).toContain(
      'is used by a permission, and it is derived from "c": the model may write it.',
    );
    const mine = [{ name: 'a', writers: ['user'] }];
    expect(found(withVariable({ runtime: mine, derived }))).toEqual([]);
  });

  it('but what a tool, the time, an artifact or an event of the runtime sets is not in it', () => {
    const triggers = [
      { type: 'tool_response', tool: 't' },
      { type: 'timer_expired', after: 5 },
      { type: 'agent_turn_count', at_least: 2 },
      { type: 'function', artifact: 'x', method: 'm', fallback: false },
      { type: 'event', event: 'action.completed' },
      { type: 'event', event: 'session.started' },
    ];
    expect(found(withVariable({ derived: [{ name: 'root', triggers }] }))).toEqual([]);
  });

  it('but one that only people and workflows write may be used', () => {
    expect(found(withVariable({ defined: [{ name: 'root', writers: ['user', 'workflow'] }] }))).toEqual([]);
  });
});

describe('feeds', () => {
  const feeds = (...list: readonly unknown[]) => agent({ context_feeds: list });
  const source = { type: 'internal', action: 'random' };

  it('have one id each', () => {
    expect(found(feeds({ id: 'a', source }, { id: 'a', source }))).toEqual(['duplicate context_feeds.1.id']);
  });

  it('have an interval exactly when they are periodic', () => {
    expect(found(feeds({ id: 'a', type: 'periodic', source }, { id: 'b', interval: '30s', source }))).toEqual(
      ['missing context_feeds.0', 'not_allowed context_feeds.1.interval'],
    );
    expect(found(feeds({ id: 'a', type: 'periodic', interval: 0, source }))).toEqual([
      'bad_duration context_feeds.0.interval',
    ]);
  });

  it('that refer to each other are shown as a cycle, by refs, by {{id}} and by $id', () => {
    const llm = (context: string) => ({ type: 'llm', name: 'summarize', params: { nested: [{ context }] } });
    expect(
      said(
        feeds(
          { id: 'a', source: llm('see {{b}}') },
          { id: 'b', refs: ['c'], source },
          { id: 'c', source: llm('$a.x') },
        ),
      ),
    ).toEqual([
      'cycle context_feeds.0.id: These feeds refer to each other in a cycle: $a → $b → $c → $a. | Break the cycle. A feed is loaded after the feeds that it refers to.',
    ]);
  });

  it('that refer to each other by names with hyphens are a cycle, too', () => {
    const of = (context: string) => ({ type: 'llm', name: 'summarize', params: { context } });
    expect(found(feeds({ id: 'a-b', source: of('$c-d') }, { id: 'c-d', source: of('$a-b') }))).toEqual([
      'cycle context_feeds.0.id',
    ]);
  });

  it('hide no variable and no field of the metadata', () => {
    const clashing = agent({
      context_feeds: [
        { id: 'tone', source },
        { id: 'status', source },
        { id: 'clock', source },
      ],
      context_variables: { runtime: [{ name: 'tone' }] },
      metadata: { fields: { status: { type: 'string' } } },
    });
    expect(said(clashing)).toEqual([
      'duplicate context_feeds.0.id: The feed "tone" has the same name as a context variable, so $tone is ambiguous. | Rename one of them.',
      'duplicate context_feeds.1.id: The feed "status" has the same name as a metadata field, so $status is ambiguous. | Rename one of them.',
    ]);
  });

  it('refer to feeds that are there', () => {
    expect(said(feeds({ id: 'repo', source }, { id: 'b', refs: ['rpeo'], source }))).toEqual([
      'unknown_feed context_feeds.1.refs.0: There is no feed "rpeo". | Did you mean "repo"?',
    ]);
  });

  it('of the prompt itself can be switched off, and nothing else', () => {
    expect(
      found(
        feeds(
          { id: 'builtin:metadata', enabled: false },
          { id: 'builtin:metrics' },
          { id: 'builtin:news', source },
        ),
      ),
    ).toEqual(['not_allowed context_feeds.1.id', 'unknown_key context_feeds.2.source']);
  });

  it('use names that are there, in CEL and as a field to show', () => {
    const document = agent({
      metadata: { fields: { status: { values: ['A'] } } },
      context_feeds: [
        { id: 'a', source, enabled: 'metadata.staus == "A"' },
        { id: 'b', source, enabled: 'yes', transform: [{ cel: 'valu.x' }] },
        { id: 'c', source: { type: 'metadata', name: 'stats' } },
      ],
    });
    expect(found(document)).toEqual([
      'unknown_name context_feeds.0.enabled',
      'unknown_name context_feeds.1.transform.0.cel',
      'unknown_field context_feeds.2.source.name',
    ]);
  });

  it('of an internal source name one that exists', () => {
    expect(said(feeds({ id: 'a', source: { type: 'internal', action: 'system_clok' } }))[0]).toContain(
      'Did you mean "system_clock"?',
    );
  });
});

describe('action templates', () => {
  it('that build on each other are shown as a cycle', () => {
    expect(said(agent({ action_templates: { a: { template: 'b' }, b: { template: 'a' } } }))).toEqual([
      'cycle action_templates.a: These action templates refer to each other in a cycle: a → b → a. | Break the cycle: one of them must not refer to another.',
    ]);
  });

  it('build on templates that are there', () => {
    expect(
      said(agent({ action_templates: { fetch: { name: 'x' }, b: { template: 'fetsh' } } }))[0],
    ).toContain('Did you mean "fetch"?');
  });

  it('test only what an action sees', () => {
    expect(said(agent({ action_templates: { a: { name: 'x', if: 'meta.status == 1' } } }))[0]).toContain(
      'unknown_name action_templates.a.if',
    );
  });
});

describe('models and the rest', () => {
  it('a short name of a model is declared', () => {
    expect(said(agent({ models: { fast: 'a/b' }, prompts: { p: { template: 'x', model: 'fst' } } }))).toEqual(
      [
        'unknown_model prompts.p.model: There is no model "fst" in "models". | Did you mean "fast"? Or write "provider/model".',
      ],
    );
  });

  it('an internal action that is both allowed and blocked is worth a warning', () => {
    expect(
      found(agent({ internal_actions: { allowed_actions: ['rollback'], blocked_actions: ['rollback'] } })),
    ).toEqual(['warning contradiction internal_actions.blocked_actions.0']);
  });

  it('a built-in tool is one of those there are', () => {
    expect(said(agent({ import: { tools: ['builtin:fileystem'] } }))[0]).toContain(
      'Did you mean "builtin:filesystem"?',
    );
  });

  it('an MCP server has a command or an address', () => {
    expect(
      found(
        agent({
          import: {
            tools: [
              { mcp: { name: 'a' } },
              { mcp: { name: 'b', command: 'x', url: 'https://x' } },
              { mcp: { name: 'b', url: 'ftp://x' } },
            ],
          },
        }),
      ),
    ).toEqual([
      'missing import.tools.0.mcp',
      'exclusive import.tools.1.mcp.url',
      'not_allowed import.tools.2.mcp.url',
      'duplicate import.tools.2.mcp.name',
    ]);
  });

  it('what belongs to a program is refused of an MCP server over HTTP, and the other way round', () => {
    const tools = [
      { mcp: { name: 'a', url: 'https://x', args: ['y'], env: { A: 'b' }, cwd: '.' } },
      { mcp: { name: 'b', command: 'x', headers: { A: 'b' } } },
      {
        mcp: {
          name: 'c',
          url: 'https://x',
          headers: { A: 'b' },
          resources: false,
          prompts: false,
          timeout: '30s',
        },
      },
      { mcp: { name: 'd', url: 'https://x', token: 'y' } },
    ];
    expect(found(agent({ import: { tools } }))).toEqual([
      'missing import.tools.0.mcp.args',
      'missing import.tools.0.mcp.env',
      'missing import.tools.0.mcp.cwd',
      'missing import.tools.1.mcp.headers',
      'unknown_key import.tools.3.mcp.token',
    ]);
  });

  it('a decision without a fallback is refused, and one of the wrong type too', () => {
    const components = [
      { name: 'a', prompt: 'x', inject_into: { invoke: 'i', method: 'm' } },
      {
        name: 'b',
        prompt: { invoke: 'i', method: 'm', fallback: true },
        inject_into: [{ step: 's', if: { invoke: 'i', method: 'm', fallback: 'yes' } }],
      },
    ];
    expect(found(agent({ components }))).toEqual([
      'missing components.0.inject_into',
      'wrong_type components.1.prompt.fallback',
      'wrong_type components.1.inject_into.0.if.fallback',
    ]);
  });
});

describe('a trigger of a derived variable', () => {
  const derived = (triggers: readonly unknown[], rest: object = {}) =>
    checkManifest({
      kind: 'Agent',
      name: 'a',
      context_variables: { derived: [{ name: 'd', triggers, ...rest }] },
    });
  const spoken = { type: 'agent_text', match: { equals: 'DONE' } };
  const timer = { type: 'timer_expired', after: '5s' };

  it('may have what resets it, beside what resets the variable', () => {
    const { issues, manifest } = derived([{ ...spoken, reset_on: [timer] }], { reset_on: [spoken] });
    expect(issues).toEqual([]);
    expect(manifest).toMatchObject({
      context_variables: { derived: [{ triggers: [{ set: true, reset_on: [{ type: 'timer_expired' }] }] }] },
    });
  });

  it('that resets sets nothing', () => {
    const { issues } = derived([{ ...timer, reset_on: [{ ...spoken, set: 3 }] }]);
    expect(issues).toMatchObject([
      { code: 'unknown_key', hint: 'What resets a variable puts its default back.' },
    ]);
  });

  it('counts as in the hand of the model by what resets it, too', () => {
    const { issues } = checkManifest({
      kind: 'Agent',
      name: 'a',
      context_variables: { derived: [{ name: 'd', triggers: [{ ...timer, reset_on: [spoken] }] }] },
      permissions: { paths: ['$' + '{vars.d}'] },
    });
    expect(issues.map(({ code }) => code)).toEqual(['model_controlled']);
  });
});

describe('notifications', () => {
  const channels = {
    ops: { webhook: { url: 'https://ops.example.com/a', secret: 's' } },
    pager: { command: ['page', '{message}'] },
  };
  const notes = (notifications: unknown) => said(agent({ notifications }));

  it('name channels that there are', () => {
    expect(notes({ channels, rules: [{ on: ['stuck'], to: ['ops', 'pagr'] }] })).toEqual([
      'unknown_name notifications.rules.0.to.1: There is no channel "pagr". | Did you mean "pager"?',
    ]);
    expect(notes({ channels, rules: [{ on: ['stuck'], to: ['ops'] }, { on: ['session.failed'] }] })).toEqual(
      [],
    );
  });

  it('are about what can be told', () => {
    expect(notes({ channels, rules: [{ on: ['sesion.failed'] }] })).toMatchObject([
      expect.stringContaining('session.failed'),
    ]);
  });

  it.each([
    ['nowhere', '"nowhere" is not an address.'],
    ['ftp://example.com', '"ftp://example.com" is not an address that accepts a POST.'],
    // It may have come from a variable: what is printed holds no password.
    ['https://me:pw@example.com', 'The address contains a user name or a password.'],
  ])('go to an address: not to %s', (url, why) => {
    const told = notes({ channels: { ops: { webhook: { url, secret: 's' } } } });
    expect(told).toMatchObject([
      expect.stringContaining(`bad_address notifications.channels.ops.webhook.url: ${why}`),
    ]);
    expect(JSON.stringify(told)).not.toContain('me:pw');
  });

  it('set no header that is set already, and none of several lines', () => {
    const headers = { 'Webhook-Id': 'x', 'a b': 'x', ok: 'x', two: 'x\ny' };
    expect(
      found(
        agent({
          notifications: { channels: { ops: { webhook: { url: 'http://a', secret: 's', headers } } } },
        }),
      ),
    ).toEqual([
      'not_allowed notifications.channels.ops.webhook.headers.Webhook-Id',
      'not_allowed notifications.channels.ops.webhook.headers.a b',
      'not_allowed notifications.channels.ops.webhook.headers.two',
    ]);
  });

  it('fill in arguments, and never the program', () => {
    const commands = {
      a: { command: ['{message}'] },
      b: { command: ['', 'x'] },
      c: { command: ['x', '{mesage}', '{ok'] },
    };
    expect(notes({ channels: commands })).toEqual([
      'bad_command notifications.channels.a.command.0: The program of a channel cannot be "{message}". | Write the program itself. Only its arguments can contain placeholders.',
      'bad_command notifications.channels.b.command.0: The program of a channel cannot be "". | Write the program itself. Only its arguments can contain placeholders.',
      'unknown_name notifications.channels.c.command.1: Unknown placeholder "{mesage}". | Did you mean "message"?',
    ]);
  });

  it('have one way a channel', () => {
    expect(
      found(
        agent({
          notifications: { channels: { a: { desktop: true, command: ['x'] }, b: { desktop: false } } },
        }),
      ),
    ).toEqual(['exclusive notifications.channels.a.command', 'not_allowed notifications.channels.b.desktop']);
  });
});

describe('handoffs', () => {
  it('lists agents, with what the model or the runtime decides by', () => {
    const entries = [
      'billing',
      { to: 'faq', when: 'A simple question' },
      { to: 'interview', if: "vars.topic == 'x' && metadata.status == 'A'", at: 'before_turn' },
      { to: 'user', always: true },
    ];
    const known = {
      metadata: { fields: { status: { values: ['A'] } } },
      context_variables: { runtime: [{ name: 'topic' }] },
    };
    expect(said(agent({ handoff: entries, ...known }))).toEqual([]);
    expect(said(agent({ handoff: [{ to: 'b', if: 'vars.topik' }], ...known }))).toEqual([
      'unknown_name handoff.0.if: "vars" has no "topik". | Did you mean "topic"?',
    ]);
  });

  it('refuses a handoff to oneself, entries that are never checked, and two deciders in one entry', () => {
    expect(
      found(
        agent({
          handoff: [
            'a',
            { to: 'b', always: true },
            { to: 'c', if: 'true' },
            { to: 'c', if: 'true', when: 'x' },
          ],
        }),
      ),
    ).toEqual([
      'exclusive handoff.3.if',
      'self_handoff handoff.0',
      'warning unreachable handoff.2',
      'warning unreachable handoff.3',
    ]);
  });

  it('refuses a group whose first speaker takes no part, and names that its rule does not have', () => {
    const group = { agents: ['writer', 'critic'], start: 'writter', next_speaker: 'spekaer' };
    expect(said(agent({ group }))).toEqual([
      'unknown_agent group.start: "writter" is not one of the "agents" of this group. | Did you mean "writer"?',
      'unknown_name group.next_speaker: Unknown name "spekaer". | Did you mean "speaker"?',
    ]);
    expect(said(agent({ group: { agents: ['writer', 'critic'], next_speaker: 'round_robin' } }))).toEqual([]);
  });

  it('refuses handoffs of an agent that a workflow leads, and warns where its model may not hand over', () => {
    expect(found(agent({ workflow: 'w', handoff: ['b'] }))).toEqual(['exclusive handoff']);
    expect(found(agent({ internal_actions: { enabled: false }, handoff: ['b'] }))).toEqual([
      'warning contradiction handoff.0',
    ]);
  });
});

describe('sampling options', () => {
  it.each([
    [
      { model_options: { temperature: 3 } },
      'not_allowed model_options.temperature: "temperature" cannot be 3. | Write a number from 0 to 2.',
    ],
    [
      { model_options: { temprature: 1 } },
      'unknown_key model_options.temprature: Unknown key "temprature" in "model_options". | Did you mean "temperature"?',
    ],
    [
      { model_options: { max_tokens: 5 } },
      'unknown_key model_options.max_tokens: Unknown key "max_tokens" in "model_options". | Use "max_output_tokens".',
    ],
    [
      { model_options: { seed: 1.5 } },
      'wrong_type model_options.seed: "seed" cannot be 1.5. | Write a whole number.',
    ],
    [
      { temperature: 1 },
      'unknown_key temperature: Unknown key "temperature" in Agent. | Put it under "model_options".',
    ],
    [
      { models: { a: { model: 'openai/gpt-5', top_p: 2 } } },
      'not_allowed models.a.top_p: "top_p" cannot be 2. | Write a number from 0 to 1.',
    ],
    [{ models: { a: { temperature: 1 } } }, 'missing models.a: A model needs "model".'],
    [{ models: { a: { model: 'nothing' } } }, 'not_allowed models.a.model: "model" cannot be "nothing".'],
  ])('%j is refused', (keys, what) => {
    expect(said(agent(keys))).toEqual([expect.stringContaining(what)]);
  });

  it('are checked where they stand, and may stand beside a named model', () => {
    expect(
      found(
        agent({
          model_options: { temperature: 2, top_k: 40, stop_sequences: ['END'] },
          models: { judge: { model: 'openai/gpt-5', temperature: 0 }, fast: 'openai/gpt-5-mini' },
        }),
      ),
    ).toEqual([]);
  });
});
