import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leftOpen, truncated } from '../../src/protocol/tags/faults.ts';
import { openElements } from '../../src/protocol/tags/open-elements.ts';
import { createSharedTagParser } from '../../src/protocol/tags/tag-parser.ts';
import { branchTurn, codeTurn, turn } from './arbitraries.ts';

/** What a turn is gone on in behind this text. */
function behind(before: string) {
  const parser = createSharedTagParser({});
  const elements = openElements(parser.push(before));
  return { inside: elements.map((open) => ({ ...open, live: true })), book: parser.book() };
}
const whole = (before: string, text: string) => {
  const parser = createSharedTagParser({});
  parser.push(before);
  return [...parser.push(text), ...parser.end()];
};
const goneOn = (before: string, text: string) => {
  const parser = createSharedTagParser(behind(before));
  return [...parser.push(text), ...parser.end()];
};

test.each([
  ['', []],
  ['<if test="a">', [{ name: 'if', test: 'a', inElse: false }]],
  ['<if test="a"><else/>', [{ name: 'if', test: 'a', inElse: true }]],
  [
    '<if test="a"><if test="b"><else/>',
    [
      { name: 'if', test: 'a', inElse: false },
      { name: 'if', test: 'b', inElse: true },
    ],
  ],
  ['<parallel id="g">', [{ name: 'parallel', id: 'g' }]],
  ['<parallel id="g"></parallel><parallel>', [{ name: 'parallel', id: undefined }]],
  [
    '<parallel id="g"><if test="a"><else/>',
    [
      { name: 'parallel', id: 'g' },
      { name: 'if', test: 'a', inElse: true },
    ],
  ],
  ['<if test="a"><if test="b"></if><else/></if><if test="c">', [{ name: 'if', test: 'c', inElse: false }]],
])('what is open behind %s is found', (before, open) => {
  expect(openElements(createSharedTagParser({}).push(before))).toEqual(open);
});

const NAMED = '<action id="x">{"name":"t"}</action><action>{"name":"t"}</action>';

test('whatever follows is read inside of them as behind their opening tags, but that they need not be closed', () => {
  const before = fc.constantFrom(
    '<if test="a">',
    '<if test="a"><else/>',
    '<if test="a"><if test="b">',
    `${NAMED}<if test="a">${NAMED}`,
    `<if test="a">${NAMED}<else/>`,
    `<if test="a">${NAMED}</if>`,
  );
  fc.assert(
    fc.property(before, fc.oneof(branchTurn, codeTurn, turn), (opened, text) => {
      const left = whole(opened, text);
      const rest = goneOn(opened, text);
      const { message } = truncated('if');
      const unclosed = (events: readonly { readonly type: string }[]) =>
        events.filter((event) => !('message' in event && event.message === message));
      expect(unclosed(rest)).toEqual(unclosed(left));
      expect(rest.length).toBeLessThanOrEqual(left.length);
    }),
    { numRuns: 1000 },
  );
});

test('one in which nothing counts has to be closed', () => {
  const begun = { name: 'if', test: 'a', inElse: false, live: false } as const;
  const left = createSharedTagParser({ inside: [begun] });
  expect(left.end()).toContainEqual(truncated('if'));
  const closed = createSharedTagParser({ inside: [begun] });
  expect([...closed.push('</if>'), ...closed.end()]).toEqual([{ type: 'if', test: 'a', body: 'close' }]);
});

test('whatever follows is read inside of a <parallel> as behind its opening tag, but for how it ends and for sync actions', () => {
  const before = fc.constantFrom('<parallel id="g">', '<parallel>', '<parallel id="g"><if test="a">');
  const faults = [truncated('if'), truncated('parallel'), leftOpen('parallel'), leftOpen('if')].map(
    ({ message }) => message,
  );
  // Without modes, also those of the actions in a <foreach>: a sync action does not wait in a <parallel>.
  const common = (events: readonly { readonly type: string }[]) =>
    events
      .filter((event) => !('message' in event && faults.includes(String(event.message))))
      .map((event) =>
        JSON.parse(
          JSON.stringify(event, (key, value) => (key === 'left' || key === 'mode' ? undefined : value)),
        ),
      );
  fc.assert(
    fc.property(before, fc.oneof(branchTurn, codeTurn, turn), (opened, text) => {
      fc.pre(!/<response|<parallel[^>]*id="g"/.test(text)); // these may mean that the model takes it for closed
      expect(common(goneOn(opened, text))).toEqual(common(whole(opened, text)));
    }),
    { numRuns: 1000 },
  );
});

const inGroup = (text: string) => goneOn('<parallel id="g">', text);
const LEFT = { type: 'parallel', id: 'g', body: 'close', left: 'end' };
const CLOSED = { type: 'parallel', id: 'g', body: 'close' };
const action = (id: string, more = '', mode = '') => `<action id="${id}"${mode}>{"name":"t"${more}}</action>`;
const tagsOf = (text: string) =>
  inGroup(text).map((event) => (event.type === 'action' ? `${event.id} ${event.mode}` : event));

test.each([
  ['', [LEFT]],
  ['</parallel>', [CLOSED]],
  [action('a'), ['a async', LEFT]],
  [action('a', '', ' mode="sync"'), ['a sync', LEFT]],
  [action('a', '', ' mode="fire_and_forget"'), ['a async', LEFT]],
  [`<parallel id="g">${action('a', '', ' mode="sync"')}</parallel>`, ['a async', CLOSED]],
  ['<parallel id="g"/>', [CLOSED]],
  [`${action('a', ',"depends_on":["g"]')}</parallel>`, ['a async', CLOSED]],
])('inside of a <parallel> that was opened before, %s is read as it is meant', (text, events) => {
  expect(tagsOf(text)).toEqual(events);
});

test('a response inside of a <parallel> that was opened before ends it, wherever it stands on its line', () => {
  expect(inGroup('So: <response>Done.</response>').map(({ type }) => type)).toEqual([
    ...['text', 'parallel', 'open', 'delta', 'close'],
  ]);
});

test('an element that was opened since keeps the <parallel> around it open', () => {
  const text = `<if test="a"><parallel id="g">${action('a')}</parallel>${action('b', ',"depends_on":["g"]')}</if></parallel>`;
  const events = inGroup(text);
  expect(events.at(-1)).toEqual(CLOSED);
  expect(events.filter(({ type }) => type === 'fault')).toMatchObject([{ code: 'duplicate_id' }]);
});
