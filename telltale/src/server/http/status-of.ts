import type { RuntimeError } from '../../kernel/runtime-error.ts';

/**
 * The codes of each status. What is in none of them may pass where it says so: 503, and senders try again. Else it is an
 * error that a request brought about: 422.
 */
const CODES: readonly (readonly [status: number, codes: string])[] = [
  [
    400,
    `bad_request bad_json bad_url bad_cursor bad_idempotency_key name_malformed query_malformed usage token_malformed
     hook_stale`,
  ],
  [401, `token_missing token_refused bad_signature`],
  [403, `host_refused origin_refused role_needed not_permitted variable_denied`],
  [
    404,
    `route_unknown not_shared agent_unknown session_unknown stream_unknown run_unknown review_unknown artifact_unknown
     version_unknown event_unknown turn_unknown feed_unknown hook_unknown notification_unknown token_unknown action_unknown
     symbol_unknown file_unknown fact_unknown resource_unknown no_workflow no_agent no_memory not_indexed
     session_empty`,
  ],
  [405, `method_not_allowed`],
  [408, `request_timeout`],
  [
    409,
    `idempotency_running idempotency_not_kept conflict name_taken stream_exists stream_owned stream_moved stream_lost
     review_answered review_withdrawn review_ambiguous session_ambiguous session_completed session_ended session_led
     session_has_parent run_ambiguous run_ended run_leads run_has_parent run_id_taken agent_id_taken agent_in_code
     action_ended manifest_changed quarantined changes_undecided keys_busy token_exists hook_replayed not_a_chat
     thread_busy`,
  ],
  [
    413,
    `body_too_large message_too_large append_too_large input_too_large file_too_large output_too_large
     graph_change_too_large hook_too_large`,
  ],
  [414, `url_too_long`],
  [415, `wrong_media_type`],
  [
    429,
    `fleet_full rate_limited inbox_full slots_full too_many_subscriptions tokens_full trigger_contended workflow_busy`,
  ],
  [431, `headers_too_large`],
  [499, `client_gone`],
  [500, `internal`],
  [
    503,
    `closing runtime_closed engine_closed engine_full memory_closed sandbox_busy queue_full queue_busy store_closed
     store_failed store_full store_locked store_overloaded store_damaged store_unwritable store_gone store_newer store_foreign
     store_unreachable store_denied store_unsupported store_unknown store_other_fleet work_queue_failed
     no_store store_empty index_failed hook_ambiguous schedule_contended session_released too_many_streams`,
  ],
  [504, `timeout`],
];

const STATUS: ReadonlyMap<string, number> = new Map(
  CODES.flatMap(([status, codes]) => codes.split(/\s+/).map((code) => [code, status] as const)),
);

export const statusOf = ({ code, retryable }: Pick<RuntimeError, 'code' | 'retryable'>): number =>
  STATUS.get(code) ?? (retryable ? 503 : 422);
