import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { checkManifest, type Manifest } from '../../../src/manifest/check-manifest.ts';
import type { AgentManifest, ToolManifest, WorkflowManifest } from '../../../src/manifest/schema/kinds.ts';
import type { Step } from '../../../src/manifest/schema/steps/step.ts';
import { AGENT_EXAMPLE, EXAMPLES } from './examples.ts';
import { agent, steps, tool } from './said.ts';

/** Whole documents, some of them large: on a busy machine five seconds may not do. */
vi.setConfig({ testTimeout: 60_000 });

const checked = (document: unknown): Manifest => {
  const { manifest, issues } = checkManifest(document);
  if (manifest === undefined) throw new Error(JSON.stringify(issues));
  return manifest;
};

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen));

describe('a checked manifest', () => {
  it('is frozen to the bottom', () => {
    for (const document of EXAMPLES) expect(isFrozen(checked(document))).toBe(true);
  });

  it('shares nothing with the document, nor with another manifest', () => {
    const document = AGENT_EXAMPLE();
    const first = checked(document) as AgentManifest;
    const second = checked(agent({})) as AgentManifest;
    const third = checked(agent({})) as AgentManifest;
    expect(first.metadata.fields).not.toBe((document.metadata as { fields: unknown }).fields);
    expect(second.permissions.paths).toEqual(third.permissions.paths);
    expect(second.permissions.paths).not.toBe(third.permissions.paths);
    expect(() => (document.metadata as { fields: Record<string, unknown> }).fields).not.toThrow();
    expect(Object.isFrozen(document)).toBe(false);
  });

  it('carries durations as ms and sizes as bytes', () => {
    const manifest = checked(
      agent({ limits: { wall: '1h30m', action_timeout: 20 }, protocol: { max_body: '64KiB' } }),
    ) as AgentManifest;
    expect(manifest.limits.wall).toEqual({ ms: 5_400_000 });
    expect(manifest.limits.action_timeout).toEqual({ ms: 20_000 });
    expect(manifest.protocol.max_body).toEqual({ bytes: 65_536 });
  });

  it('has every default', () => {
    expect(checked(agent({}))).toEqual({
      kind: 'Agent',
      name: 'a',
      models: {},
      instructions: '',
      dialect: 'tags',
      workflow: null,
      prompts: {},
      protocol: {
        on_sync: 'buffer',
        actions_in: ['outside', 'thought'],
        bare_text: 'auto',
        final_with_actions: 'held',
        seal: false,
        max_body: { bytes: 1_048_576 },
      },
      limits: {
        turns: 50,
        handoffs: 20,
        parallel_actions: 16,
        action_timeout: { ms: 300_000 },
        settle: { ms: 300_000 },
        feed_deadline: { ms: 5_000 },
        result: { bytes: 32_768 },
        first_token: { ms: 600_000 },
      },
      metadata: {
        scope: 'session',
        on_invalid: 'field',
        limits: { fields: 32, bytes: { bytes: 65_536 }, depth: 8 },
        inherit: 'none',
        fields: {},
        injection: { method: 'on_change', template: null },
      },
      context_variables: { defined: [], runtime: [], derived: [] },
      context_feeds: [],
      components: [],
      hooks: { before_turn: [], after_turn: [], before_action: [], after_action: [], on_error: [] },
      internal_actions: { enabled: true, blocked_actions: [] },
      import: { tools: [], relics: [], agents: [], workflows: [], artifacts: [] },
      handoff: [],
      fallback_models: [],
      model_options: {},
      action_templates: {},
      permissions: {
        paths: { allow: ['.'], ask: [], deny: [] },
        network: { allow: [], ask: [], deny: [] },
        shell: { allow: [], ask: ['*'], deny: [] },
        manifests: [],
        sandbox: 'auto',
        artifacts: [],
        environment: [],
      },
    });
  });

  it('keeps a tool without parameters callable with none', () => {
    expect((checked(tool({})) as ToolManifest).parameters).toEqual({ type: 'object' });
  });

  it('reads the short forms of a step', () => {
    const { steps: [first, second] = [] } = checked(
      steps(
        { name: 'a', type: 'tool', target: 't', retry: 2, on_error: 'goto b', if: true },
        { name: 'b', type: 'parallel', branches: [{ name: 'c', type: 'tool', target: 't' }] },
      ),
    ) as WorkflowManifest;
    expect(first).toMatchObject({
      retry: { max: 2, backoff: { ms: 250 } },
      on_error: { goto: 'b' },
      if: 'true',
    });
    expect(second).toMatchObject({ branches: [[{ name: 'c' }]] });
  });

  it.each([
    [true, 'true'],
    [false, 'false'],
    ['', 'false'],
    ['0', 'false'],
    [0, 'false'],
    ['no', 'false'],
    [null, 'false'],
    ['1', 'true'],
    ['yes', 'true'],
    ['agent.iteration_count > 3', 'agent.iteration_count > 3'],
  ])('reads enabled: %j as %s', (written, read) => {
    const manifest = checked(
      agent({ context_feeds: [{ id: 'a', enabled: written, source: { type: 'repo' } }] }),
    ) as AgentManifest;
    expect(manifest.context_feeds[0]?.enabled).toBe(read);
  });

  it('takes a value without type as an enum', () => {
    const manifest = checked(agent({ metadata: { fields: { mode: { values: ['A'] } } } })) as AgentManifest;
    expect(manifest.metadata.fields.mode).toEqual({ type: 'enum', values: ['A'], sticky: false });
  });
});

describe('types', () => {
  it('tell manifests apart by kind and steps by type', () => {
    const manifest = checked(
      steps({
        name: 'a',
        type: 'loop',
        while: 'true',
        max: 2,
        body: [{ name: 'b', type: 'wait', for: '5m' }],
      }),
    );
    if (manifest.kind !== 'Workflow') throw new Error('another kind');
    const [first] = manifest.steps ?? [];
    if (first?.type !== 'loop') throw new Error('another type');
    expectTypeOf(first.max).toEqualTypeOf<number>();
    expectTypeOf(first.body).toEqualTypeOf<readonly Step[]>();
    expectTypeOf<AgentManifest['dialect']>().toEqualTypeOf<'tags' | 'tools' | 'step'>();
    expectTypeOf<AgentManifest['limits']['action_timeout']>().toEqualTypeOf<{ readonly ms: number }>();
    // @ts-expect-error a Tool has no steps
    expectTypeOf<ToolManifest['steps']>();
    expect(first.body[0]).toMatchObject({ for: { ms: 300_000 } });
  });
});
