import type { JsonObject } from '../../lib/json.ts';
import { conditionToCel } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { defined, plainText, textOf } from '../values.ts';
import { type AgentNames, inner, type MozaiksDefinition, specialTarget } from './read-mozaiks.ts';
import type { Variables } from './variables.ts';

/** Who hands over to whom. */
export interface Handoffs {
  /** The `handoff` list of each agent. */
  readonly byAgent: ReadonlyMap<string, readonly JsonObject[]>;
  /** Who gets a message of the person: `on_message` of the group. */
  readonly onMessage: readonly JsonObject[];
}

interface HandoffsRule {
  readonly part: SourceMap;
  /** An agent, or `user`. */
  readonly from: string;
  /** An agent, `user` or `end`. */
  readonly to: string;
  readonly isAfterWork: boolean;
  readonly condition: string | undefined;
}

/** Reads the handoffs in every form: `handoff_rules`, `{from, to, condition}`, and `{source, targets}`. */
export function readHandoffs(
  definition: MozaiksDefinition,
  agent: AgentNames,
  variables: Variables,
): Handoffs {
  const rules: HandoffsRule[] = [];
  for (const root of definition.sections.get('handoffs') ?? []) {
    const part = inner(root, 'handoffs');
    for (const key of ['handoff_rules', 'handoffs', 'rules'])
      part.each(key, 'handoff', (item) => rules.push(...rulesOf(item, agent)));
    part.left('agent_message', 'it is shown by the user interface of Mozaiks');
  }
  const byAgent = new Map<string, JsonObject[]>();
  const onMessage: JsonObject[] = [];
  for (const from of new Set(rules.map((rule) => rule.from))) {
    const own = rules.filter((rule) => rule.from === from);
    const conditional = own.filter(({ isAfterWork }) => !isAfterWork);
    const defaults = own.filter(({ isAfterWork }) => isAfterWork);
    for (const rule of defaults.slice(0, -1))
      rule.part.note('handoff_type', 'left', 'a later rule after the work counts, as in Mozaiks');
    // What always holds comes last: nothing after it is checked.
    const entries = [...conditional, ...defaults.slice(-1)].flatMap((rule) => {
      const entry = from === 'user' ? messageEntry(rule, variables) : handoffEntry(rule, variables);
      return entry === undefined ? [] : [entry];
    });
    if (from === 'user') onMessage.push(...entries);
    else byAgent.set(from, entries);
  }
  return { byAgent, onMessage };
}

function rulesOf(item: SourceMap, agent: AgentNames): readonly HandoffsRule[] {
  const fromKey = item.keyOf('source_agent', 'from_agent', 'from', 'source');
  const from = fromKey === undefined ? undefined : speakerOf(item, fromKey, agent);
  const rules: HandoffsRule[] = [];
  const read = (part: SourceMap) => {
    const rule = from === undefined ? undefined : ruleOf(part, from, agent);
    if (rule !== undefined) rules.push(rule);
  };
  if (item.value.targets === undefined) read(item);
  else item.each('targets', 'handoff', read);
  return rules;
}

function ruleOf(part: SourceMap, from: string, agent: AgentNames): HandoffsRule | undefined {
  const toKey = part.keyOf('target_agent', 'to_agent', 'to', 'agent', 'target');
  const implied = textOf(part.kept('transition_target', '"to" is an agent, "user" or "end"')) ?? '';
  const special = { TerminateTarget: 'end', RevertToUserTarget: 'user' }[implied];
  const to = toKey === undefined ? special : speakerOf(part, toKey, agent);
  if (to === undefined) {
    if (toKey === undefined) part.note('target_agent', 'left', 'nothing says where the conversation goes');
    return undefined;
  }
  const type = part.text('handoff_type') ?? (part.value.condition ? 'condition' : 'after_work');
  const isAfterWork = type === 'after_work' || type === 'always';
  if (part.value.handoff_type !== undefined)
    part.note('handoff_type', 'changed', isAfterWork ? 'it is "always"' : 'it is "if" or "when"');
  const condition = textOf(part.take('condition'))?.trim();
  if (to === from && to !== 'user') {
    part.note('condition', 'left', 'an agent keeps the conversation by itself');
    return undefined;
  }
  if (isAfterWork && condition !== undefined)
    part.note('condition', 'left', 'a rule after the work has no condition');
  return { part, from, to, isAfterWork, condition };
}

/** An agent by its name here, `user` or `end`; undefined, and reported, if the workflow does not have it. */
function speakerOf(part: SourceMap, key: string, agent: AgentNames): string | undefined {
  const written = part.text(key) ?? '';
  const speaker = agent(written) ?? specialTarget(written);
  if (speaker === undefined)
    part.note(key, 'left', `the workflow has no agent ${written}: the rule is skipped`);
  else part.renamed(key, speaker);
  return speaker;
}

function handoffEntry(rule: HandoffsRule, variables: Variables): JsonObject | undefined {
  const { part, to, condition } = rule;
  if (rule.isAfterWork) return { to, always: true };
  const scope = textOf(part.take('condition_scope') ?? part.take('scope'));
  if (condition === undefined || condition === '') {
    part.note('condition', 'left', 'a condition without text never holds; Mozaiks skips the rule, too');
    return undefined;
  }
  if (!isExpression(rule)) {
    part.note('condition', 'changed', 'it is "when": the model decides by it');
    if (scope !== undefined) part.note('condition_scope', 'left', 'the model decides in its turn');
    return { to, when: plainText(condition) };
  }
  const test = celOf(rule, variables);
  if (test === undefined) return undefined;
  const isBefore = ['pre', 'before_reply', 'immediate', 'context_pre'].includes(scope?.toLowerCase() ?? '');
  if (scope !== undefined)
    part.note('condition_scope', 'changed', `it is "at: ${isBefore ? 'before_turn' : 'after_turn'}"`);
  return defined({ to, if: test, at: isBefore ? 'before_turn' : undefined });
}

function messageEntry(rule: HandoffsRule, variables: Variables): JsonObject | undefined {
  const { part, to, condition } = rule;
  if (to === 'user' || to === 'end') {
    part.note('target_agent', 'left', 'only an agent gets the messages of the person');
    return undefined;
  }
  if (rule.isAfterWork) return { to, always: true };
  part.left('condition_scope', 'it is checked when a message comes');
  part.left('scope', 'it is checked when a message comes');
  if (condition === undefined || !isExpression(rule)) {
    part.note('condition', 'left', 'no model decides who gets a message: write it as "when" of an agent');
    return undefined;
  }
  const test = celOf(rule, variables);
  return test === undefined ? undefined : { to, if: test };
}

/** Whether the runtime of Mozaiks evaluates the condition; else its model reads it. */
function isExpression({ part, condition = '' }: HandoffsRule): boolean {
  const type = textOf(part.kept('condition_type', 'it decides between "if" and "when"'))?.toLowerCase() ?? '';
  return type === ''
    ? condition.includes('${')
    : ['expression', 'context_expression', 'context'].includes(type);
}

/** The condition as CEL over variables. Those that no file declares are declared, since Mozaiks makes them, too. */
function celOf({ part, condition = '' }: HandoffsRule, variables: Variables): string | undefined {
  const undeclared: string[] = [];
  const cel = conditionToCel(condition, {
    reference: (written) => {
      const [root = '', ...path] = written.split('.');
      const { name, isDeclared } = variables.reference(root);
      if (!isDeclared) undeclared.push(name);
      return ['vars', name, ...path].join('.');
    },
    isBoolean: (name) => variables.booleans.has(name),
  });
  for (const name of undeclared)
    part.note('condition', 'changed', `no file declares ${name}: it is a runtime variable now`);
  if (cel === undefined) part.note('condition', 'left', `it could not be converted: ${condition}`);
  else part.note('condition', 'changed', `it is "if": ${cel}`);
  return cel;
}
