import { parse } from 'yaml';

/** Documents that use every key of every kind; the properties cut, misspell and retype them. */
const AGENT = `
$schema: ./Agent.json
kind: Agent
name: coding_agent
version: "1.0"
description: Implements a change and keeps docs and changelog in step.
model: anthropic/claude-sonnet-4-5
models: { fast: anthropic/claude-haiku-4-5, offline: "scripted:./transcripts/coding.yml" }
instructions: |
  You work in /srv/project.
dialect: tags
workflow: null
prompts: { condense: { template: "Condense {text}", model: fast, description: Shorter } }
protocol: { on_sync: buffer, actions_in: [outside, thought], bare_text: nudge, final_with_actions: bind, seal: false, max_body: 1MiB }
limits: { turns: 50, handoffs: 5, tokens: 400000, cost_usd: 2.00, wall: 30m, parallel_actions: 16, action_timeout: 300s }
budget: { balance: 100, costs: { turn: 1, action: 0, artifact: 0.1 } }
metadata:
  scope: session
  on_invalid: field
  limits: { fields: 32, bytes: 64KiB, depth: 8 }
  inherit: none
  fields:
    status: { type: enum, values: [IDLE, CODING, DEBUGGING], default: IDLE, description: Current mode, sticky: true }
    mode: { values: [AUTONOMOUS, ASSISTED] }
    progress: { type: number, min: 0, max: 100, integer: true, default: 5 }
    title: { type: string, max_length: 80, pattern: "^[A-Z]", default: Draft }
    blocked: { type: boolean, default: false }
    context: { type: object, merge: deep, schema: { type: object, properties: { phase: { type: string } } } }
    files: { type: array, items: { type: string, max_length: 200 }, max_items: 20, default: [a.ts] }
  injection:
    method: on_change
    template: |
      {fields} {current} {errors} {values.status}
      - status: {values} (current: {current_value})
context_variables:
  defined:
    - { name: preferred_style, type: string, key: user, default: concise, store: profiles, description: How to write, expose: [coding_agent], writers: [user] }
  runtime:
    - { name: attempts, type: number, default: 0, writers: [model, workflow] }
  derived:
    - name: interview_complete
      description: The interview has ended
      default: false
      reset_on: [{ type: agent_turn_count, agent: InterviewAgent, at_least: 9 }]
      writers: [derived]
      triggers:
        - { type: agent_text, agent: InterviewAgent, in: response, match: { equals: TERMINATE }, set: true }
        - { type: agent_text, match: { contains: done } }
        - { type: agent_text, match: { matches: "^bye" } }
        - { type: tool_response, tool: deploy, status: ok, match: { code: 0 } }
        - { type: metadata_match, conditions: { status: CODING } }
        - { type: event, event: action.failed, match: { id: build } }
        - { type: timer_expired, after: 5m, since: session.started }
        - { type: function, artifact: my_decider, method: is_done, fallback: false }
    - { name: many_attempts, expression: "vars.attempts > 3 || interview_complete" }
context_feeds:
  - { id: current_datetime, type: on_demand, source: { type: internal, action: system_clock, params: { format: ISO8601 } } }
  - { id: system_metrics, type: periodic, interval: 30, source: { type: tool, name: system_monitor, action: read, params: { metrics: [cpu] } } }
  - { id: repo_structure, source: { type: repo, name: ./ }, cache_ttl: 300, max_tokens: 1000, enabled: "metadata.status == 'CODING'" }
  - { id: summary, refs: [current_datetime], source: { type: llm, name: summarize, params: { context: $repo_structure, model: fast } }, transform: [{ cel: value }, { jsonpath: $.a }, { head: 5 }, { tail: 3 }, { lines: ERROR }, { template: "{value}" }], inject: each_turn, on_error: stale }
  - { id: readme, source: { type: file, name: README.md }, enabled: true }
  - { id: page, source: { type: http, name: "https://example.com" }, enabled: "0" }
  - { id: peers, source: { type: agent, name: reviewer } }
  - { id: state, source: { type: metadata, name: status } }
  - { id: logs, source: { type: relic, name: log_service } }
  - { id: docs, source: { type: workflow, name: doc_aggregator } }
  - { id: remote, source: { type: mcp, name: github, action: readme } }
  - { id: "builtin:memory", enabled: false, max_tokens: 500 }
components:
  - { name: caution, prompt: Mind the budget., inject_into: [observe, { step: reflect, always: true }, { step: plan, if: "vars.attempts > 2" }] }
  - { name: hint, prompt_artifact_id: hint_text, inject_into: { invoke: injector, method: steps, args: [1], cache: false, fallback: [observe] } }
hooks:
  before_turn: [{ invoke: guard, method: check, fallback: true }]
  after_turn: []
  before_action: [{ command: [node, guard.js], cwd: ., env: { MODE: strict }, timeout: 5s, fallback: true }]
  after_action: []
  on_error: []
notifications:
  channels:
    ops: { webhook: { url: "https://ops.example.com/telltale", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, headers: { x-team: core } } }
    me: { desktop: true }
    pager: { command: [page, --, "{agent}: {message}", "{url}"] }
  rules: [{ on: [session.failed, stuck], to: [ops, pager] }, { on: [review.requested] }]
output: { schema: { type: object, required: [answer], properties: { answer: { type: string } } } }
internal_actions: { enabled: true, allowed_actions: [add_context_feed, handoff], blocked_actions: [rollback] }
memory: { graph: ./, inject: 2000 }
import:
  tools: ["./tools/*.yml", "builtin:filesystem", { mcp: { name: github, command: npx, args: [server], env: { A: b }, cwd: . } }, { mcp: { name: remote, url: "https://mcp.example.com", headers: { Authorization: x } } }]
  relics: [./relics/log.yml]
  agents: [./agents/reviewer.yml]
  workflows: ["./workflows/*.yml"]
  artifacts: [./artifacts/my_decider.yml]
handoff: [reviewer, { to: billing, when: An invoice is asked for, carry: summary, reason: Invoices }, { to: reviewer, if: "vars.attempts > 3", at: before_turn }, { to: billing, if: { invoke: my_decider, method: hand_over, fallback: false } }, { to: user, always: true }]
group: { agents: [coding_agent, reviewer], start: coding_agent, next_speaker: { invoke: my_decider, method: next, fallback: user }, on_message: [{ to: reviewer, if: "metadata.status == 'IDLE'" }], carry: messages }
action_templates:
  fetch: { type: tool, mode: async, name: http_fetch, timeout: 20, retry: 2 }
  fetch_all: { template: fetch, parameters: { url: $url }, output_key: page, depends_on: [a1], on_error: skip, if: "metadata.status == 'CODING' && vars.attempts < 3", compensate: { type: tool, name: undo, parameters: {} } }
permissions: { paths: [".", $preferred_style], network: [api.example.com], shell: ask, artifacts: [read, write], environment: [HOME] }
`;

const WORKFLOW = `
kind: Workflow
name: code_finalization
version: "2"
description: Keeps docs and changelog in step while the agent codes.
input: { type: object, properties: { branch: { type: string } } }
context_variables:
  runtime: [{ name: budget_left, type: number, default: 3, writers: [workflow] }]
triggers:
  - type: metadata_match
    conditions: { status: CODING, priority: [HIGH, MEDIUM], context: { phase: implementation } }
    match_all: true
    fire: on_enter
    debounce: 2s
    cooldown: 1m
    delay: 1
    priority: 10
    concurrency: { max: 1, when_busy: skip }
    cancel_on_exit: false
  - { type: variable_match, test: { invoke: gate, method: open, fallback: false } }
  - { type: event, event: action.failed, match: { id: build } }
  - { type: schedule, cron: "*/10 8-18 * * MON-FRI", timezone: Europe/Lisbon }
  - { type: schedule, every: 10m }
  - { type: webhook, hook: finalize, secret: s3cret }
  - { type: manual, priority: 1 }
components: [{ name: style, prompt: Be brief., inject_into: [review] }]
hooks: { before_action: [{ invoke: guard, method: check, fallback: true }] }
steps:
  - { name: docs, type: agent, target: doc_generator, parameters: { project: "\${agent.metadata.context.project}", all: "\${agent.tools}" }, if: "agent.iteration_count > 1", description: Docs first, timeout: 5m, retry: { max: 2, backoff: 1s }, on_error: continue, output_key: docs, compensate: { type: tool, target: git, parameters: { revert: true }, timeout: 10 }, hooks: { on_error: [] } }
  - { name: changelog, type: tool, target: changelog_updater, parameters: { docs: "\${steps.docs.output ?? none}" }, condition: previous_steps_success, retry: 2 }
  - { name: cache, type: relic, target: cache, parameters: { operation: set } }
  - { name: sub, type: workflow, target: other }
  - { name: summarize, type: llm, target: summarize, parameters: { text: "\${input.branch}" } }
  - { name: ask, type: llm, prompt: { invoke: prompt_maker, method: make, fallback: Say hello }, model: fast }
  - { name: review, type: task, agent: reviewer, prompt: Review the change., requires: { verdict: { type: string } }, max_turns: 8, verify: { model: fast, instructions: Is it done?, when: completion, threshold: medium, max_retries: 2 } }
  - { name: tests, type: task, prompt_artifact_id: test_prompt, verify: { command: [npm, test], cwd: ., env: { CI: "1" }, timeout: 5m, when: turn } }
  - { name: checked, type: task, prompt: Go on., verify: { invoke: judge, method: judge, args: [], fallback: escalate } }
  - { name: planned, type: plan, agent: planner, prompt: Plan it., model: fast, approval: always }
  - { name: compute, type: script, script: "1 + 1", parameters: { a: 1 } }
  - { name: shell, type: script, command: [git, status], cwd: ., env: { A: b }, stdin: x }
  - { name: meta, type: set_metadata, values: { status: IDLE } }
  - { name: vars1, type: set_variable, values: "\${steps.docs.output}" }
  - { name: tell, type: notify, message: "Done: \${run.id}", to: team, data: { a: 1 } }
  - { name: announce, type: emit, event: finalized, data: [1] }
  - { name: consent, type: approval, prompt: "Ship with \${vars.budget_left}?", options: [ship, stop], assignee: lead, timeout: 1h, on_timeout: stop }
  - { name: pause, type: wait, for: 5m }
  - { name: until_then, type: wait, until: "2026-11-15T08:30:00Z" }
  - { name: until_ref, type: wait, until: "\${steps.docs.output.at}" }
  - { name: signal, type: wait, event: custom, match: { name: go }, timeout: 1d }
  - { name: side, type: parallel, branches: [{ name: p1, type: tool, target: a }, [{ name: p2, type: tool, target: b }, { name: p3, type: tool, target: c, needs: [p2] }]], max_parallel: 2, fail_fast: false }
  - { name: first, type: race, branches: [{ name: r1, type: tool, target: a }, { name: r2, type: tool, target: b }] }
  - { name: each, type: foreach, in: "\${steps.docs.output.files}", as: file, max_parallel: 4, body: [{ name: lint, type: tool, target: lint, parameters: { path: "\${file.path}" }, if: "file.size < 1000" }] }
  - { name: literal, type: foreach, in: [1, 2], body: [{ name: echo, type: tool, target: echo, parameters: { n: "\${item}" } }] }
  - { name: again, type: loop, while: "vars.budget_left > 0", max: 5, body: [{ name: try_it, type: tool, target: t, on_error: goto cleanup }, { name: cleanup, type: tool, target: c }] }
  - { name: until_ok, type: loop, until: { invoke: gate, method: open, fallback: true }, max: 2, body: [{ name: poke, type: tool, target: t }] }
  - { name: which, type: switch, cases: [{ if: "steps.docs.output.ok", body: [{ name: good, type: tool, target: t }] }], default: [{ name: bad, type: tool, target: t }] }
  - { name: safe, type: try, body: [{ name: risky, type: tool, target: t }], catch: [{ name: mend, type: tool, target: t }], finally: [{ name: tidy, type: tool, target: t }] }
`;

const MACHINE = `
kind: Workflow
name: cognition
trigger: { type: manual }
initial: observing
max_transitions: 40
transitions: [{ from: "*", to: stopped, condition: "vars.stop" }, { from: [observing, acting], to: stopped, condition: { invoke: gate, method: closed, fallback: false } }]
states:
  observing:
    description: Look around
    steps: [{ name: look, type: llm, prompt: Look. }]
    transitions: [{ to: acting, condition: "steps.look.output.ready" }, { to: observing }]
  acting:
    steps:
      - { name: choose, type: transition, prompt: "continue or stop?", transition_map: { continue: observing, stop: stopped }, model: fast }
      - { name: decide, type: transition, transition_source: { invoke: strategy, method: next, fallback: observing } }
  stopped: { final: true }
`;

const TOOLS = [
  `
kind: Tool
name: git_log
version: "1.0"
description: The last commits.
parameters: { type: object, properties: { count: { type: integer, minimum: 1 } }, required: [count] }
implementation: { command: [git, log, "-n", "{count}"], cwd: ., env: { GIT_PAGER: cat }, stdin: "" }
idempotent: true
start: on_close
approval: never
timeout: 20s
output: { max_bytes: 64KiB, schema: { type: string } }
stream: true
`,
  'kind: Tool\nname: run_it\nimplementation: { module: ./x.ts, export: run }\n',
  'kind: Tool\nname: fetch\nparameters: { type: object, properties: { q: { type: string } } }\nimplementation: { http: { method: POST, url: "https://api.example.com/?q={q}", headers: { Accept: text/plain }, body: { q: "{q}" } } }\n',
  'kind: Tool\nname: issues\nimplementation: { mcp: { server: github, tool: list_issues } }\n',
  'kind: Tool\nname: add\nimplementation: { script: "parameters.a + parameters.b" }\nstart: on_turn_end\napproval: always\n',
];

const RELICS = [
  'kind: Relic\nname: notes\nversion: "1"\ndescription: Notes.\ndriver: kv\nidempotent: true\napproval: never\ntimeout: 5\n',
  'kind: Relic\nname: db\ndriver: sql\nconnection: ./data.db\n',
  'kind: Relic\nname: pg\ndriver: sql\nconnection: postgres://db/app\n',
  'kind: Relic\nname: cache\ndriver: redis\nconnection: { url: "redis://localhost:6379", prefix: app }\n',
];

const ARTIFACTS = [
  'kind: Artifact\nname: my_decider\nversion: "1"\ndescription: Decides.\nlanguage: js\nsource: "export const should_continue = () => true"\nmethods: { should_continue: { description: Go on? } }\n',
  'kind: Artifact\nname: other\nmodule: ./other.js\nmethods: { decide: {} }\n',
];

export const EXAMPLES: readonly unknown[] = [AGENT, WORKFLOW, MACHINE, ...TOOLS, ...RELICS, ...ARTIFACTS].map(
  (text) => parse(text),
);
export const AGENT_EXAMPLE = (): Record<string, unknown> => parse(AGENT);
