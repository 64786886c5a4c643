import { tmpdir } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import { childEnvironment, type ProcessEnvironment } from '../../tools/process/child-environment.ts';
import type { Delivered, Parcel } from './channels.ts';
import { type Program, runProgram } from './channels.ts';

/** Shows a notification on the desktop of this machine. */
export type Desktop = (parcel: Parcel) => Promise<Delivered>;

export interface DesktopDeps {
  /** `linux`, `darwin`, `win32`. */
  readonly platform: string;
  readonly env: ProcessEnvironment;
  readonly clock: Clock;
}

/** Variables that programs need to find the desktop. */
const DISPLAYS = ['DISPLAY', 'WAYLAND_DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR'];

type Show = (title: string, message: string) => Pick<Program, 'program' | 'args'>;

/** Texts are passed as arguments or variables, never as part of a script. */
const SHOWS: Readonly<Record<string, Show>> = {
  linux: (title, message) => ({
    program: 'notify-send',
    args: ['--app-name=telltale', '--', title, message],
  }),
  darwin: (title, message) => ({
    program: 'osascript',
    args: [
      '-e',
      'on run argv',
      '-e',
      'display notification (item 2 of argv) with title (item 1 of argv)',
      '-e',
      'end run',
      title,
      message,
    ],
  }),
  win32: () => ({
    program: 'powershell.exe',
    args: ['-NoProfile', '-NonInteractive', '-Command', WINDOWS_TOAST],
  }),
};

const WINDOWS_TOAST = [
  '$ErrorActionPreference = "Stop"',
  '[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]',
  '$toast = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent(1)',
  '$texts = $toast.GetElementsByTagName("text")',
  '[void]$texts.Item(0).AppendChild($toast.CreateTextNode($env:TELLTALE_TITLE))',
  '[void]$texts.Item(1).AppendChild($toast.CreateTextNode($env:TELLTALE_MESSAGE))',
  '$app = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe"',
  '[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($app).Show([Windows.UI.Notifications.ToastNotification]::new($toast))',
].join('; ');

export function createDesktop({ platform, env, clock }: DesktopDeps): Desktop {
  return async ({ row, signal }) => {
    const show = SHOWS[platform];
    if (show === undefined) return none(`Desktop notifications are not supported on ${platform}.`);
    if (platform === 'linux' && !DISPLAYS.slice(0, 3).some((name) => (env[name] ?? '') !== ''))
      return none('There is no desktop: DISPLAY, WAYLAND_DISPLAY and DBUS_SESSION_BUS_ADDRESS are not set.');
    const title = `telltale: ${row.agent}`;
    const shown = await runProgram(
      clock,
      {
        ...show(title, row.message),
        what: `channel "${row.channel}"`,
        cwd: tmpdir(),
        env: childEnvironment(env, DISPLAYS, { TELLTALE_TITLE: title, TELLTALE_MESSAGE: row.message }),
      },
      signal,
    );
    return shown.kind === 'final' ? none(shown.error) : shown;
  };
}

const none = (error: string): Delivered => ({ kind: 'unusable', error });
