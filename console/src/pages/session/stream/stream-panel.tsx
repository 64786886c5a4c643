import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type FormEvent,
  type KeyboardEvent,
  memo,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { itemsUntil, withLive } from '../model/stream.ts';
import { isItemOf, itemKey } from '../model/stream-items.ts';
import { useSessionView } from '../session-view.ts';
import { StreamRow } from './stream-row.tsx';

/** The conversation. It follows the end until somebody scrolls away from it. */
export const StreamPanel = memo(function StreamPanel({ className }: { readonly className?: string }) {
  const { model, moment, isLive, selected } = useSessionView();
  const scroller = useRef<HTMLDivElement>(null);
  const all = itemsUntil(model.stream.items, moment.seq);
  const [tail, setTail] = useState(TAIL);
  const earlier = Math.max(0, all.length - tail);
  const items = isLive
    ? withLive(model.stream, model.live(), { first: earlier, at: moment.at })
    : all.slice(earlier);
  const count = items.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => ESTIMATES[items[index]?.kind ?? 'note'] ?? 40,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : item.seq === 0 ? `live ${item.kind} ${index}` : itemKey(item);
    },
    overscan: 4,
    paddingStart: 12,
    paddingEnd: 16,
  });
  const stick = useStickToEnd(scroller, virtual.getTotalSize());
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new choice moves the conversation.
  useEffect(() => {
    const at = selected === undefined ? -1 : items.findLastIndex((item) => isItemOf(item, selected));
    if (at < 0) return;
    stick.leave();
    virtual.scrollToIndex(at, { align: 'center' });
  }, [selected]);
  return (
    <Panel
      title="Conversation"
      bodyClassName="relative flex min-h-0 flex-col"
      {...(className === undefined ? {} : { className })}
    >
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        className="min-h-0 flex-1 overflow-y-auto -outline-offset-2"
      >
        {count === 0 ? <EmptyState icon="message" title="Nothing has been said yet." /> : null}
        {earlier > 0 ? (
          <div className="flex justify-center pt-2">
            <Button size="small" kind="quiet" onClick={() => setTail(tail + TAIL)}>
              Show more of the {earlier.toLocaleString('en')} before this
            </Button>
          </div>
        ) : null}
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const item = items[index];
            return item === undefined ? null : (
              <div
                key={String(key)}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${start}px)` }}
              >
                <StreamRow item={item} />
              </div>
            );
          })}
        </div>
      </div>
      {stick.isAway && isLive ? (
        <div className="pointer-events-none absolute inset-x-0 bottom-16 flex justify-center">
          <Button
            size="small"
            kind="primary"
            className="pointer-events-auto shadow-float"
            onClick={stick.toEnd}
          >
            To the newest
          </Button>
        </div>
      ) : null}
      <SteerBox />
    </Panel>
  );
});

/** How many items are rendered at first and per click, because the browser must lay out each one. */
const TAIL = 300;

/** Estimated heights in pixels, until an item has been measured. */
const ESTIMATES: Readonly<Record<string, number>> = {
  message: 64,
  turn: 40,
  thought: 84,
  text: 60,
  response: 84,
  action: 42,
  metadata: 36,
  run: 36,
  note: 36,
};

const NEAR_PX = 48;

/** Keeps a growing list scrolled to its end, unless somebody has scrolled up. */
function useStickToEnd(scroller: RefObject<HTMLElement | null>, height: number) {
  const isStuck = useRef(true);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () => {
      isStuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      setAway(!isStuck.current);
    };
    // Only a person's scrolling counts, because measuring rows also moves the end.
    element.addEventListener('wheel', look, { passive: true });
    element.addEventListener('touchmove', look, { passive: true });
    element.addEventListener('keyup', look);
    element.addEventListener('pointerup', look);
    return () => {
      for (const type of ['wheel', 'touchmove', 'keyup', 'pointerup'])
        element.removeEventListener(type, look);
    };
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is what changes the end.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isStuck.current) element.scrollTop = element.scrollHeight;
  }, [scroller, height]);
  return {
    isAway,
    /** Stops following, because something above should be visible. */
    leave() {
      isStuck.current = false;
      setAway(true);
    },
    toEnd() {
      isStuck.current = true;
      setAway(false);
      scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
    },
  };
}

interface Pending {
  readonly text: string;
  /** The last event when it was sent. */
  readonly after: number;
}

/**
 * Sends the agent a message: the next one of a chat that waits, otherwise one that the agent reads before its next
 * turn.
 */
function SteerBox() {
  const { id, model, version } = useSessionView();
  const state = model.stateAt(model.events.length);
  const isChat = state.chat === true && state.idle;
  const isAlive = state.status === 'running' || state.status === 'waiting';
  const blocked = useBlocked('run');
  const [text, setText] = useState('');
  const [pending, setPending] = useState<readonly Pending[]>([]);
  const send = useCall((client, options, said: string) =>
    (isChat ? client.say(id, said, options) : client.steer(id, said, options)).then(() => true),
  );
  const field = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that events have come.
  useEffect(() => {
    setPending((before) =>
      before.length === 0 ? before : before.filter((one) => !isReceived(model.events, one)),
    );
  }, [version, model]);
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    const said = text.trim();
    if (said === '' || blocked !== undefined) return;
    const after = model.events.length;
    if ((await send.run(said)) === undefined) return;
    setText('');
    setPending((before) =>
      [...before, { text: said, after }].filter((one) => !isReceived(model.events, one)),
    );
    box.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  if (!isAlive) return null;
  return (
    <form onSubmit={submit} className="shrink-0 border-t border-line p-2.5">
      {pending.map((one) => (
        <p
          key={`${one.after} ${one.text}`}
          className="mb-2 flex items-start gap-1.5 text-small text-ink-soft"
        >
          <Icon name="clock" size={13} className="mt-0.5 text-wait" />
          <span className="min-w-0 break-words">
            <span className="font-medium text-ink">Sent, not read yet:</span> {one.text}
          </span>
        </p>
      ))}
      {send.error === undefined ? null : (
        <p role="alert" className="mb-2 text-small text-fail">
          {send.error.message} {send.error.hint ?? ''}
        </p>
      )}
      <div className="flex items-end gap-2">
        <label htmlFor={field} className="sr-only">
          {isChat ? 'Your next message' : 'Steer the agent'}
        </label>
        <textarea
          id={field}
          ref={box}
          rows={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={isChat ? 'Your next message…' : 'Steer: the agent reads it before its next turn…'}
          className="block max-h-32 min-h-8 w-full min-w-0 flex-1 resize-none rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-body field-sizing-content placeholder:text-ink-faint"
        />
        <Button type="submit" kind="primary" icon="arrowRight" busy={send.busy} blocked={blocked}>
          {isChat ? 'Say' : 'Steer'}
        </Button>
      </div>
    </form>
  );
}

const isReceived = (
  events: readonly { readonly seq: number; readonly type: string; readonly text?: string }[],
  { text, after }: Pending,
): boolean =>
  events.slice(after).some((event) => event.type === 'message.received' && event.text?.trim() === text);
