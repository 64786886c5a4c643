// biome-ignore-all lint/suspicious/noTemplateCurlyInString: manifests hold such references
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { said } from './said.ts';

/** What people write: the examples of the contract, and manifests in the manner of older ones, quotes and all. */
const WRITTEN: readonly (readonly [string, string])[] = [
  [
    'a workflow with a trigger of every option',
    `
kind: Workflow
name: code_finalization
description: Keeps docs and changelog in step while the agent codes.
input: { type: object, properties: {} }
context_variables: {}
triggers:
  - type: metadata_match
    conditions: { status: CODING, priority: [HIGH, MEDIUM], context: { phase: implementation } }
    match_all: true
    fire: on_enter
    debounce: 2s
    priority: 10
    concurrency: { max: 1, when_busy: skip }
    cancel_on_exit: false
steps: [{ name: one, type: tool, target: changelog }]
`,
  ],
  [
    'variables of all three classes',
    `
kind: Agent
name: interviewer
context_variables:
  defined:
    - { name: preferred_style, type: string, key: user, default: concise }
  runtime:
    - { name: attempts, type: number, default: 0 }
  derived:
    - name: interview_complete
      default: false
      triggers:
        - { type: agent_text, agent: InterviewAgent, match: { equals: TERMINATE } }
`,
  ],
  [
    'a decision by artifact and a verifier',
    `
kind: Workflow
name: guided
steps:
  - { name: go, type: task, prompt: Do it., condition: { invoke: my_decider, method: should_continue, args: [3], fallback: true } }
  - { name: check, type: task, prompt: Check it., verify: { model: fast, instructions: Judge., when: completion, threshold: medium, max_retries: 2 } }
`,
  ],
  [
    'an agent with quoted values and a template of its own',
    `
kind: Agent
name: "worker"
version: "1.0"
metadata:
  fields:
    status: { type: "enum", values: ["IDLE", "BUSY"], default: "IDLE", description: "What it does" }
    context: { type: "object", description: "Anything" }
  injection:
    method: "auto"
    template: |
      Fields:
      - status: {values} (current: {current_value})
      - context: any JSON object (current: {current_value})
import:
  workflows: ["./workflows/finish.yml"]
`,
  ],
  [
    'feeds with bare seconds, a switch from the environment and a reference',
    `
kind: Agent
name: watcher
context_feeds:
  - { id: now, type: on_demand, source: { type: internal, action: system_clock, params: { format: ISO8601, timezone: UTC } } }
  - { id: load, type: periodic, interval: 30, source: { type: tool, name: system_monitor, params: { metrics: [cpu, memory] } } }
  - { id: debug_info, type: on_demand, enabled: "", source: { type: internal, action: debug_context } }
  - { id: tree, type: on_demand, source: { type: tool, name: git_tree, params: { path: ., max_depth: 3 } } }
  - { id: gist, type: on_demand, cache_ttl: 1800, source: { type: llm, name: summarize, params: { context: $tree, model: some-model } } }
internal_actions: { enabled: true, allowed_actions: [add_context_feed, remove_context_feed] }
models: { some-model: openai/gpt-5 }
`,
  ],
  [
    'steps that use what the agent was doing',
    `
kind: Workflow
name: finish
trigger: { type: metadata_match, conditions: { status: BUSY }, match_all: true }
steps:
  - { name: docs, type: agent, target: writer, parameters: { project: "\${agent.metadata.context.project}", tools: "\${agent.tools}" } }
  - { name: commit, type: tool, target: git, parameters: { message: "From \${agent.agent_name}, session \${agent.session_id}" }, condition: previous_steps_success }
`,
  ],
  [
    'a machine whose next state a model chooses',
    `
kind: Workflow
name: thinker
initial: reflecting
states:
  reflecting:
    steps:
      - { name: reflect, type: transition, prompt: "continue, pivot or ship?", transition_map: { continue: implementing, pivot: reflecting, ship: shipping } }
  implementing:
    transitions: [{ to: reflecting, condition: { invoke: decider, method: should_continue, args: [], fallback: true } }, { to: shipping }]
  shipping: { final: true }
components:
  - { name: guidance, prompt: Think twice., inject_into: [{ step: reflect, if: { invoke: analyzer, method: needs_guidance, fallback: true } }] }
`,
  ],
];

describe('what people write is taken without a word', () => {
  it.each(WRITTEN)('%s', (_, text) => {
    expect(said(parse(text))).toEqual([]);
  });
});
