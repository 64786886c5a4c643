import { timeSavedText } from '../../../../../telltale/src/events/time-saved.ts';
import { Icon } from '../../../ui/icon.tsx';
import { useSessionView } from '../session-view.ts';

/** The time saved by starting actions early; nothing where none was saved. */
export function SavingLine() {
  const { model, moment } = useSessionView();
  const text = timeSavedText(model.timeSaved.at(moment.seq));
  if (text === undefined) return null;
  return (
    <p
      title={text}
      className="mr-1 hidden min-w-0 flex-[5_1_0] items-center justify-end gap-1.5 text-small text-ink-soft sm:flex"
    >
      <Icon name="bolt" size={13} className="text-accent" />
      <span className="truncate">{text}</span>
    </p>
  );
}
