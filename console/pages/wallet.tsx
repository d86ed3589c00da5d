import { useSession } from '../api/context.ts'
import { PageHead } from '../ui/page.tsx'
import { WalletView } from '../ui/wallet-view.tsx'

/** The wallet of the tenant of the user. */
export function OwnWallet() {
  const { tenant = '' } = useSession().user
  return (
    <>
      <PageHead title="Wallet">What {tenant} has paid, and what its calls cost.</PageHead>
      <WalletView tenant={tenant} />
    </>
  )
}
