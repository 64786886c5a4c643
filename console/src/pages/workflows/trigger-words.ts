import { isJsonObject, type Json, type JsonObject } from '../../../../telltale/src/lib/json.ts';
import { formatDuration } from '../../format/format-duration.ts';
import type { IconName } from '../../ui/icon-shapes.ts';
import { conditionWords } from './condition-words.ts';

export interface TriggerWords {
  readonly icon: IconName;
  /** When it fires, as a sentence without a full stop. */
  readonly when: string;
  /** Its limits, such as debounce, a few words each. */
  readonly pace: readonly string[];
}

const FIRES: Readonly<Record<string, string>> = {
  on_enter: 'As soon as',
  on_change: 'Whenever something changes while',
  on_update: 'At every update while',
  on_exit: 'As soon as this stops being true:',
  once: 'The first time that',
};

/** A trigger in words. */
export function triggerWords(trigger: JsonObject): TriggerWords {
  const { type, conditions, test, match, match_all } = trigger;
  const pace = paceOf(trigger);
  const what =
    conditions === undefined
      ? testWords(test)
      : conditionWords(conditions, match_all === false ? 'or' : 'and');
  switch (type) {
    case 'metadata_match':
      return {
        icon: 'bolt',
        when: `${FIRES[String(trigger.fire)] ?? 'When'} the agent declares that ${what}`,
        pace,
      };
    case 'variable_match':
      return {
        icon: 'bolt',
        when: `${FIRES[String(trigger.fire)] ?? 'When'} variables say that ${what}`,
        pace,
      };
    case 'event': {
      const which =
        match === undefined
          ? test === undefined
            ? ''
            : ` and ${testWords(test)}`
          : ` and ${conditionWords(match)}`;
      return { icon: 'activity', when: `When the event ${String(trigger.event)} happens${which}`, pace };
    }
    case 'schedule':
      return { icon: 'clock', when: scheduleWords(trigger), pace };
    case 'webhook':
      return {
        icon: 'arrowRight',
        when: `When a signed request arrives at /hooks/${String(trigger.hook ?? 'its name')}`,
        pace,
      };
    case 'manual':
      return { icon: 'person', when: 'When somebody starts it by hand', pace };
    default:
      return { icon: 'bolt', when: `When a trigger of the type ${String(type)} fires`, pace };
  }
}

/** For a workflow without triggers. */
export const NO_TRIGGER: TriggerWords = {
  icon: 'workflows',
  when: 'When an agent or another workflow calls it, or somebody starts it by hand',
  pace: [],
};

const testWords = (test: Json | undefined): string =>
  isJsonObject(test)
    ? `artifact ${String(test.invoke)}.${String(test.method)} says so`
    : `${String(test ?? 'always')} holds`;

function scheduleWords({ cron, every, timezone, missed }: JsonObject): string {
  const when =
    cron === undefined
      ? `Every ${durationOf(every) ?? 'now and then'}`
      : `At the times of "${String(cron)}" (${String(timezone ?? 'UTC')})`;
  const late =
    missed === 'skip' ? ', missed times are skipped' : missed === 'all' ? ', missed times are run later' : '';
  return `${when}${late}`;
}

function durationOf(value: Json | undefined): string | undefined {
  const ms = isJsonObject(value) ? value.ms : value;
  return typeof ms === 'number' ? formatDuration(ms) : typeof ms === 'string' ? ms : undefined;
}

function paceOf({ debounce, cooldown, delay, concurrency, cancel_on_exit }: JsonObject): readonly string[] {
  const quiet = durationOf(debounce);
  const apart = durationOf(cooldown);
  const later = durationOf(delay);
  const busy = isJsonObject(concurrency) ? concurrency : undefined;
  return [
    ...(quiet === undefined ? [] : [`after ${quiet} without changes`]),
    ...(apart === undefined ? [] : [`at most once in ${apart}`]),
    ...(later === undefined ? [] : [`after ${later}`]),
    ...(busy === undefined
      ? []
      : [`${String(busy.max ?? 1)} at a time, else ${String(busy.when_busy ?? 'skip')}`]),
    ...(cancel_on_exit === true ? ['cancelled when the condition stops being true'] : []),
  ];
}
