import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';
import { type Health, healthOf } from './health-of.ts';

const LOOKS: Readonly<Record<Health['kind'], readonly [IconName, string]>> = {
  fine: ['check', 'text-done'],
  warned: ['info', 'text-wait'],
  old: ['history', 'text-wait'],
  broken: ['cross', 'text-fail'],
};

export function AgentHealth({ agent }: { readonly agent: AgentInfo }) {
  const { kind, text } = healthOf(agent);
  const [icon, ink] = LOOKS[kind];
  return (
    <span className={cx('inline-flex items-center gap-1 text-small font-medium', ink)}>
      <Icon name={icon} size={14} />
      {text}
    </span>
  );
}
