! Parts of a sum, a sum on one rank, and parts of all ranks, by calls and by plans. Prints a line on
! rank 0.
program reductions
  use mpi
  use cohom
  implicit none
  integer, parameter :: part = 1000, root = 1
  real, allocatable :: all(:)
  double precision :: own(part), sums(part)
  integer :: i, ierror, info, rank, ranks
  type(cohom_plan) :: parts, onto_root, gathering

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, 'cohom_codec', 'exact', ierror)

  allocate (all(part * ranks))
  all = all_of(rank)
  call cohom_reduce_scatter_block(MPI_IN_PLACE, all, part, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, info)
  call check(all(part) == last_of_part(), 'a part')

  own = rank + 0.5d0
  sums = -1
  call cohom_reduce(own, sums, part, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, info, &
                    ierror)
  call check(ierror == MPI_SUCCESS, 'the error')
  call check(sums(1) == merge(ranks * ranks / 2.d0, -1.d0, rank == root), 'the sum')
  sums = own
  if (rank == root) then
    call cohom_reduce(MPI_IN_PLACE, sums, part, MPI_DOUBLE_PRECISION, MPI_SUM, root, &
                      MPI_COMM_WORLD, info)
  else
    call cohom_reduce(own, sums, part, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, info)
  end if
  call check(sums(1) == merge(ranks * ranks / 2.d0, rank + 0.5d0, rank == root), 'in place')

  call cohom_reduce_scatter_block_plan_create(part, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, info, parts)
  call cohom_reduce_plan_create(part, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, info, &
                                onto_root)
  do i = 1, 2
    all = all_of(rank)
    call cohom_plan_execute(parts, MPI_IN_PLACE, all)
    call check(all(part) == last_of_part(), 'a part by a plan')
    sums = -1
    call cohom_plan_execute(onto_root, own, sums)
    call check(sums(part) == merge(ranks * ranks / 2.d0, -1.d0, rank == root), 'a sum by a plan')
  end do
  all = -1
  call cohom_allgather([(rank + 0.5, i = 1, part)], part, MPI_REAL, all, part, MPI_REAL, &
                       MPI_COMM_WORLD, info)
  call check(all(1) == 0.5 .and. all(part * ranks) == ranks - 0.5, 'a gathered part')
  call cohom_allgather_plan_create(part, MPI_REAL, MPI_COMM_WORLD, info, gathering)
  all = -1
  all(part * rank + 1:part * (rank + 1)) = rank + 0.25
  call cohom_plan_execute(gathering, MPI_IN_PLACE, all)
  call check(all(1) == 0.25 .and. all(part * ranks) == ranks - 0.75, 'a part gathered in place')
  call cohom_plan_free(gathering)
  call cohom_plan_free(parts)
  call cohom_plan_free(onto_root)
  call MPI_Info_free(info, ierror)
  if (rank == 0) print '(a)', 'reductions are right'
  call MPI_Finalize(ierror)

contains

  ! A vector of all parts, on a rank.
  function all_of(of_rank) result(vector)
    integer, intent(in) :: of_rank
    real :: vector(part * ranks)
    integer :: k
    vector = [(real(k + of_rank), k = 1, part * ranks)]
  end function

  ! Of this rank's part of the sum.
  real function last_of_part()
    last_of_part = ranks * part * (rank + 1) + ranks * (ranks - 1) / 2
  end function

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print *, 'reductions: rank ', rank, ': ', what, ' is wrong'
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
