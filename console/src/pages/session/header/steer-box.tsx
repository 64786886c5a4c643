import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { useSessionView } from '../session-view.ts';

interface Pending {
  readonly text: string;
  /** The last event that was there when it was sent. */
  readonly after: number;
}

/** Talks to the agent: the next message where it is a chat that waits, else a word that it hears before its next turn. */
export function SteerBox() {
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
