import { type ReactNode, useId, useState } from 'react';
import type {
  CountedMessage,
  CountedPart,
  PromptContent,
  SessionPrompt,
} from '../../../../../telltale/src/log/session-prompt.ts';
import { useLoaded } from '../../../data/use-loaded.ts';
import { formatWhole } from '../../../format/format-number.ts';
import { cx } from '../../../ui/class-names.ts';
import { Code } from '../../../ui/code.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { useSessionView } from '../session-view.ts';

/** The request of a turn: that of the shown moment, unless another one is selected. */
export function PromptPanel() {
  const { id, model, moment, isLive } = useSessionView();
  const [chosen, setChosen] = useState<number>();
  const ids = useId();
  const state = model.stateAt(isLive ? model.events.length : moment.seq);
  const last = state.turn;
  if (last === 0) return <EmptyState icon="message" title="The model has not been asked yet." />;
  const turn = chosen === undefined || chosen > last ? last : chosen;
  // The usage of a request is known when it has ended.
  const isOpen = turn === last && state.turnOpen;
  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex items-center gap-2 text-small">
        <label htmlFor={`${ids}-turn`} className="font-medium">
          Turn
        </label>
        <select
          id={`${ids}-turn`}
          value={turn}
          onChange={(event) => {
            const picked = Number(event.target.value);
            setChosen(picked === last ? undefined : picked);
          }}
          className="h-7 rounded-md border border-line-strong bg-surface px-1.5 tabular-nums"
        >
          {Array.from({ length: last }, (_, index) => index + 1).map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <span className="text-ink-faint">of {last}</span>
      </div>
      <PromptOfTurn key={turn} {...{ id, turn, isOpen }} />
    </div>
  );
}

function PromptOfTurn({
  id,
  turn,
  isOpen,
}: {
  readonly id: string;
  readonly turn: number;
  readonly isOpen: boolean;
}) {
  const loaded = useLoaded(`prompt ${id} ${turn} ${isOpen}`, (client, signal) =>
    client.sessionPrompt(id, turn, { signal }),
  );
  if (loaded.kind === 'loading') return <Loading label="Rebuilding the prompt" className="p-0" />;
  if (loaded.kind === 'failed')
    return (
      <ErrorState title="The prompt could not be rebuilt." error={loaded.error} onRetry={loaded.reload} />
    );
  const prompt = loaded.value;
  return (
    <>
      <Match prompt={prompt} />
      <Facts prompt={prompt} />
      <PartsTable prompt={prompt} />
      <Section title="Messages">
        {prompt.messages.map((message, index) => (
          <Fold
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids, and never change places.
            key={index}
            title={`${message.role}, turn ${message.turn}`}
            tokens={message.tokens}
            isNew={message.new}
          >
            <Content message={message} />
          </Fold>
        ))}
      </Section>
      <Section title="System prompt">
        {prompt.system.map((part) => (
          <Fold key={part.name} title={part.name} tokens={part.tokens}>
            <Code text={part.text.trimEnd()} />
          </Fold>
        ))}
      </Section>
      {prompt.tools.length === 0 ? null : (
        <Section title="Tools">
          {prompt.tools.map(({ name, tokens, text }) => (
            <Fold key={name} title={name} tokens={tokens}>
              <Code text={JSON.stringify(JSON.parse(text), null, 2)} />
            </Fold>
          ))}
        </Section>
      )}
    </>
  );
}

/** Whether this is exactly what was sent. */
function Match({ prompt: { match, note } }: { readonly prompt: SessionPrompt }) {
  if (match === 'same')
    return (
      <p className="flex items-center gap-1.5 text-small text-ink-soft">
        <Icon name="check" size={14} className="text-done" />
        This is what was sent: its hash matches the log.
      </p>
    );
  return (
    <p role="status" className="flex gap-1.5 rounded-md bg-wait-soft p-2 text-small break-words">
      <Icon name="alert" size={14} className="mt-0.5 shrink-0 text-wait" />
      <span className="min-w-0">{note}</span>
    </p>
  );
}

function Facts({ prompt }: { readonly prompt: SessionPrompt }) {
  const { model, dialect, options, request } = prompt;
  const facts: readonly (readonly [string, string])[] = [
    ['Model', model],
    ['Dialect', dialect],
    ['Options', Object.keys(options).length === 0 ? 'none' : JSON.stringify(options)],
    ['Request', request === undefined ? 'not known (the provider builds it)' : JSON.stringify(request)],
    ['Cache', cacheText(prompt)],
  ];
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 text-small">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-ink-faint">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function cacheText({ usage }: SessionPrompt): string {
  if (usage === undefined) return 'the request has not ended';
  const { input, cached = 0, estimated } = usage;
  if (estimated === true) return 'not known: the provider gave no figures';
  const share = input === 0 ? 0 : Math.round((cached / input) * 100);
  return `served ${formatWhole(cached)} of ${formatWhole(input)} input tokens (${share} %)`;
}

/** The tokens of each part. */
function PartsTable({ prompt: { system, tools, messages, tokens } }: { readonly prompt: SessionPrompt }) {
  const turns = [...new Set(messages.map(({ turn }) => turn))];
  const rows: readonly (readonly [part: string, name: string, tokens: number, isNew: boolean])[] = [
    ...system.map(rowOf('System')),
    ...tools.map(rowOf('Tool')),
    ...turns.map((turn) => {
      const own = messages.filter((message) => message.turn === turn);
      const sum = own.reduce((all, message) => all + message.tokens, 0);
      return ['Messages', `turn ${turn}`, sum, own.some((message) => message.new)] as const;
    }),
  ];
  return (
    <table className="w-full text-small" aria-label="Tokens by part">
      <thead>
        <tr className="text-left text-micro text-ink-faint">
          <th className="font-normal">Part</th>
          <th className="font-normal">
            <span className="sr-only">Name</span>
          </th>
          <th className="text-right font-normal">Tokens</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([part, name, count, isNew]) => (
          <tr key={`${part} ${name}`} className="border-t border-line">
            <td className="pr-3 text-ink-faint">{part}</td>
            <td className="break-all">
              {name} {isNew ? <New /> : null}
            </td>
            <td className="text-right tabular-nums">{formatWhole(count)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr className="border-t border-line-strong font-medium">
          <td colSpan={2}>Total</td>
          <td className="text-right tabular-nums">{formatWhole(tokens.total)}</td>
        </tr>
      </tfoot>
    </table>
  );
}

const rowOf =
  (part: string) =>
  ({ name, tokens }: CountedPart) =>
    [part, name, tokens, false] as const;

const New = () => <span className="rounded bg-accent-soft px-1 text-micro font-medium text-accent">new</span>;

const Section = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section aria-label={title}>
    <h3 className="mb-1 text-small font-semibold">{title}</h3>
    <ul className="rounded-md border border-line">{children}</ul>
  </section>
);

interface FoldProps {
  readonly title: string;
  readonly tokens: number;
  readonly isNew?: boolean;
  readonly children: ReactNode;
}

/** New parts are open. The others can be opened. */
function Fold({ title, tokens, isNew = false, children }: FoldProps) {
  const [isOpen, setOpen] = useState(isNew);
  return (
    <li className="border-b border-line last:border-b-0">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full min-w-0 items-center gap-2 px-2 py-1.5 text-left text-small -outline-offset-2 hover:bg-hover"
      >
        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
        <span className="min-w-0 truncate font-medium">{title}</span>
        {isNew ? <New /> : null}
        <span className="ml-auto shrink-0 text-micro text-ink-faint tabular-nums">
          {formatWhole(tokens)} tokens
        </span>
      </button>
      {isOpen ? <div className="flex flex-col gap-2 px-2 pb-2">{children}</div> : null}
    </li>
  );
}

function Content({ message: { content } }: { readonly message: CountedMessage }) {
  return content.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no ids, and never change places.
    <div key={index}>
      {part.type === 'text' ? null : (
        <p
          className={cx('text-micro', part.type === 'result' && part.failed ? 'text-fail' : 'text-ink-faint')}
        >
          {headOf(part)}
        </p>
      )}
      <Code text={part.type === 'call' ? part.input : part.text} />
    </div>
  ));
}

function headOf(part: PromptContent): string {
  if (part.type === 'call') return `calls ${part.name} (${part.id})`;
  if (part.type !== 'result') return part.type;
  return `${part.failed === true ? 'failure' : 'result'} of ${part.name} (${part.call})`;
}
