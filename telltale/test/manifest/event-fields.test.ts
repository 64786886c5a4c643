import { expect, expectTypeOf, it } from 'vitest';
import type { EventHead, EventOf, EventType } from '../../src/log/event.ts';
import { type EVENT_FIELDS, eventFields } from '../../src/manifest/schema/checks/check-workflow-names.ts';

type Told = typeof EVENT_FIELDS;
type KeysOf<Event> = Event extends unknown ? Exclude<keyof Event, keyof EventHead | 'type'> : never;

it('the fields of events that triggers may ask for are those that the events have', () => {
  expectTypeOf<{ [Type in keyof Told]: Told[Type][number] }>().toEqualTypeOf<{
    [Type in keyof Told]: KeysOf<EventOf<Type>>;
  }>();
  // No trigger can name these.
  expectTypeOf<Exclude<EventType, keyof Told>>().toEqualTypeOf<
    Extract<EventType, `task.${string}` | 'child.usage'>
  >();
  expect(eventFields('fault')).toEqual([
    'code',
    'message',
    'groups',
    'type',
    'seq',
    'at',
    'session',
    'turn',
    'cause',
  ]);
  expect(eventFields('step.started')).toBeUndefined();
});
