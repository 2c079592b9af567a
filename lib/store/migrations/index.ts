import { firstMail } from './0001-first-mail.ts'
import { domains } from './0002-domains.ts'
import { policy } from './0003-policy.ts'
import { suppressions } from './0004-suppressions.ts'
import { sendingLimits } from './0005-limits.ts'
import { drafts } from './0006-drafts.ts'
import { search } from './0007-search.ts'
import { eventDelivery } from './0008-event-delivery.ts'
import { policyMakers } from './0009-policy-makers.ts'
import { authenticationDeferrals } from './0010-authentication-deferrals.ts'
import { sealedSecrets } from './0011-sealed-secrets.ts'
import { door } from './0012-door.ts'
import { readings } from './0013-readings.ts'
import { tenantsApart } from './0014-tenants-apart.ts'
import { replies } from './0018-replies.ts'
import { lookUps } from './0020-look-ups.ts'
import { attachmentTexts } from './0021-attachment-texts.ts'
import { fairQueue } from './0025-fair-queue.ts'
import { indexMerges } from './0027-index-merges.ts'
import { indexFollows } from './0029-index-follows.ts'
import { operatorsHand } from './0033-operators-hand.ts'
import { tlsPolicies } from './0038-tls-policies.ts'
import { domainKeys } from './0039-domain-keys.ts'
import { replyClassesKept } from './0041-reply-classes.ts'
import { suppressionsOfPods } from './0042-suppressions-of-pods.ts'
import { retention } from './0045-retention.ts'
import { notices } from './0047-notices.ts'
import { standingHolds } from './0048-standing-holds.ts'
import { conversations } from './0049-conversations.ts'
import { unplacedEvents } from './0050-unplaced-events.ts'
import { owedNotices } from './0051-owed-notices.ts'
import { repeatsByPod } from './0052-repeats-by-pod.ts'
import { reportCounts } from './0053-report-counts.ts'
import { nodes } from './0054-nodes.ts'
import { rollingUpgrade } from './0057-rolling-upgrade.ts'
import { timesInOrder } from './0058-times-in-order.ts'
import { sharedCertificates } from './0059-shared-certificates.ts'
import { whoWrote } from './0060-who-wrote.ts'
import { storedBytes } from './0064-stored-bytes.ts'
import type { Migration } from './migration.ts'

/** All steps, in order. Append; never change one that was released. */
export const migrations: readonly Migration[] = [
  firstMail,
  domains,
  policy,
  suppressions,
  sendingLimits,
  drafts,
  search,
  eventDelivery,
  policyMakers,
  authenticationDeferrals,
  sealedSecrets,
  door,
  readings,
  tenantsApart,
  replies,
  lookUps,
  attachmentTexts,
  fairQueue,
  indexMerges,
  indexFollows,
  operatorsHand,
  tlsPolicies,
  domainKeys,
  replyClassesKept,
  suppressionsOfPods,
  retention,
  notices,
  standingHolds,
  conversations,
  unplacedEvents,
  owedNotices,
  repeatsByPod,
  reportCounts,
  nodes,
  rollingUpgrade,
  timesInOrder,
  sharedCertificates,
  whoWrote,
  storedBytes,
]
