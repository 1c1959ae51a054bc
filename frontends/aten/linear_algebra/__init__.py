"""What ATen's products, factorisations, systems of equations and functions of matrices mean."""
