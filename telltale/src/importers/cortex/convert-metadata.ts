import type { Json, JsonObject } from '../../kernel/json.ts';
import { nameOf } from '../names.ts';
import { SourceFields } from '../report.ts';
import { Steps } from './convert-workflow.ts';
import { aboutOf, type Converted, type Cortex, type Needs, noNeeds, type Unit } from './import-cortex.ts';
import { listOf, literal, mapOf, setIf, textOf } from './texts.ts';

/**
 * A manifest of metadata: its fields and its page become those of the agents that import it, and each hook a workflow
 * that they import.
 */
export function convertMetadata(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  fields.kept('version', 'version of the workflows');
  for (const key of ['summary', 'description']) {
    const text = textOf(fields.changed(key, 'a comment at the head of the first workflow'));
    if (text !== undefined) (about as string[]).push(text);
  }
  fields.kept('fields', 'metadata.fields of the agents that import it');
  fields.kept('injection', 'metadata.injection of the agents that import it');
  fields.left('environment', 'settings of Cortex');
  const needs = noNeeds();
  dependencies(unit, context, needs);
  const folder = unit.out.replace(/\.yml$/, '');
  const manifests = listOf(fields.kept('metadata_hooks', 'a workflow for each hook')).map((each, index) => {
    const hook = mapOf(each);
    const id = nameOf(textOf(hook.id as Json) ?? `hook-${index + 1}`);
    const place = { step: id, path: ['metadata_hooks', index] };
    const own = new SourceFields(hook, place, unit.report);
    own.kept('id', `workflow ${name}-${id}`);
    const description = textOf(own.kept('description'));
    const when = own.map('when');
    const conditions = mapOf(when?.kept('metadata', 'a trigger of type metadata_match'));
    when?.rest();
    const steps = new Steps(unit, context, { on_error: 'continue' });
    own.kept('actions', 'steps; one that fails does not stop the others');
    const actions = listOf(hook.actions as Json).map((action) => ({
      name: String(mapOf(action).target ?? 'action'),
      ...mapOf(action),
    }));
    const list = steps.list(actions as Json, [...place.path, 'actions']);
    own.rest();
    for (const key of ['tools', 'relics', 'agents', 'workflows'] as const)
      for (const entry of steps.needs[key]) needs[key].add(entry);
    return {
      path: `${folder}/${id}.yml`,
      manifest: {
        kind: 'Workflow',
        name: `${name}-${id}`,
        ...setIf('description', description === undefined ? undefined : literal(description)),
        trigger: { type: 'metadata_match', conditions },
        steps: list,
      },
    };
  });
  context.needs.set(unit, needs);
  context.hookWorkflows.set(
    unit,
    manifests.map(({ path }) => path),
  );
  return { manifests, about };
}

function dependencies(unit: Unit, context: Cortex, needs: Needs): void {
  const given = unit.fields.map('dependencies');
  for (const list of ['tools', 'relics', 'agents', 'workflows'] as const)
    for (const each of listOf(given?.take(list))) {
      const found = context.target(list, String(each), unit);
      if (found !== undefined) needs[list].add(found.entry);
      given?.note(
        list,
        found === undefined ? 'left' : 'kept',
        found === undefined
          ? `${String(each)} is not among the imported files`
          : `${String(each)}: imported by the agents`,
      );
    }
  given?.rest();
}

/** `metadata` of an agent: what all the manifests that it imports declare. */
export function metadataOf(units: readonly Unit[]): JsonObject | undefined {
  if (units.length === 0) return undefined;
  const fields: Record<string, Json> = {};
  let injection: JsonObject = {};
  for (const { value } of units) {
    for (const [name, field] of Object.entries(mapOf(value.fields as Json))) fields[name] = field as Json;
    const { method, template } = mapOf(value.injection as Json);
    injection = {
      ...injection,
      ...setIf('method', method as Json | undefined),
      ...(template === undefined ? {} : { template: pageOf(String(template), Object.keys(fields)) }),
    };
  }
  return { fields, ...(Object.keys(injection).length === 0 ? {} : { injection }) };
}

/** `{status}` of a page is the value of the field; `{values}` stands only on the lines of fields. */
const pageOf = (template: string, fields: readonly string[]): string =>
  literal(template).replace(/\{(\w+)\}/g, (braces, name: string) =>
    fields.includes(name) ? `{values.${name}}` : braces,
  );
